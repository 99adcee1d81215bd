"""Algorithm 1, which flow gets which level: as printed, flows of one level do not see each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from giusto.guarantee import ports
from giusto.papers import Findings, Table, Trial, drawing

from .ports import printed
from .switches import MS, Sender, send

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = 8


class Load(NamedTuple):
    """A flow at a port: wire time, separation and budget in units of 0.01 ms; one frame per message."""

    wire: int
    min_sep: int
    budget: int

    @property
    def flow(self) -> ports.Flow:
        """As (N1) takes it."""
        unit_ns = MS // 100
        return ports.Flow(self.wire * unit_ns, self.min_sep * unit_ns, budget_ns=self.budget * unit_ns)


def algorithm1(loads: Sequence[Load]) -> list[int] | None:
    """Levels as S3 assigns them from the lowest up, or None: only flows above are counted in (5)."""
    level: dict[int, int] = {}
    for p in range(LEVELS):
        left = [n for n in range(len(loads)) if n not in level]
        for n in left:
            above = [loads[m] for m in left if m != n and m not in level]
            load = sum(each.wire / each.min_sep for each in above)
            waits = printed(loads[n].wire, [(each.wire, each.wire / each.min_sep) for each in above])
            if load < 1 and waits <= loads[n].budget:
                level[n] = p
    return [level[n] for n in range(len(loads))] if len(level) == len(loads) else None


def one_by_one(loads: Sequence[Load], blocking: float) -> bool:
    """Audsley's assignment with (N1) and a level for each flow: whether it finds one."""
    left = list(range(len(loads)))
    unit_ns = MS // 100
    while left:
        fitting = [n for n in left if _stands(loads, n, left, blocking * unit_ns)]
        if not fitting:
            return False
        left.remove(fitting[0])
        blocking = max(blocking, loads[fitting[0]].wire)
    return True


def _stands(loads: Sequence[Load], n: int, left: Sequence[int], blocking_ns: float) -> bool:
    above = [loads[m].flow for m in left if m != n]
    budget_ns = loads[n].flow.budget_ns
    return budget_ns is not None and ports.queueing(loads[n].flow, above, [], round(blocking_ns)) <= budget_ns


def worst_excess(loads: Sequence[Load], level: Sequence[int]) -> float:
    """By how many ms a flow waits longer than its budget, at worst: all at once, it behind its mates."""
    return max(
        max(_waits_ms(loads, level, last, first)) - loads[last].budget / 100
        for last in range(len(loads))
        for first in {None, max(_below(loads, level, last), default=None)}
    )


def _below(loads: Sequence[Load], level: Sequence[int], last: int) -> list[int]:
    """Flows of a lower level, the one with the longest frame at the end."""
    below = [n for n in range(len(loads)) if level[n] < level[last]]
    longest = max((loads[n].wire for n in below), default=0)
    return [n for n in below if loads[n].wire == longest][:1]


def _waits_ms(loads: Sequence[Load], level: Sequence[int], last: int, first: int | None) -> list[float]:
    """Waits of flow `last` when `first` has just begun to send and all others come at once."""
    unit_ns = MS // 100
    order = [n for n in range(len(loads)) if n not in (first, last)] + [last]
    senders = [
        Sender(
            name=str(n),
            times_ns=[1 + k * loads[n].min_sep * unit_ns for k in range(12)] if n != last else [1],
            size_bytes=10 * loads[n].wire,
            level=level[n],
        )
        for n in order
    ]
    if first is not None:
        senders.insert(0, Sender(name="first", times_ns=[0], size_bytes=10 * loads[first].wire))
    return send(senders).waits_ms(str(last), loads[last].wire / 100)


def random_loads(rng: Random) -> list[Load]:
    """Three to six flows with a load of up to 0.9."""
    count = rng.randint(3, 6)
    wires = [rng.randint(5, 100) for _ in range(count)]
    return [
        Load(wire, round(wire * count / rng.uniform(0.2, 0.9)), rng.randint(wire, 8 * wire)) for wire in wires
    ]


# A long message that can wait and a short one that cannot; three flows that stand one level together.
MATES = (Load(100, 1000, 1000), Load(10, 1000, 20))
THREE = (Load(100, 400, 300),) * 3


def measure(trial: Trial) -> Findings:
    """The two small cases, then random sets: how many that were accepted miss a budget."""
    printed_level = algorithm1(MATES)
    mates = max(_waits_ms(MATES, printed_level or [], 1, None))
    counts = judged(trial)
    unit_ns = MS // 100
    packed = ports.assign_levels([each.flow for each in THREE], LEVELS, 90 * unit_ns)
    blocked = Load(90, 10_000, 10_000)
    shared = max(_waits_ms([*THREE, blocked], [1, 1, 1, 0], 2, 3))
    return Findings(
        {
            "mates": mates,
            "mates-true": isinstance(
                ports.assign_levels([each.flow for each in MATES], LEVELS), ports.Unassigned
            ),
            "accepted-missed": counts["algorithm 1"][1],
            "accepted-missed-true": counts["largest sets"][1],
            "optimal": one_by_one(THREE, 90) or isinstance(packed, ports.Unassigned),
            "optimal-true": shared,
        },
        {
            "levels": Table(
                ("assignment", "sets_accepted", "sets_with_a_miss"),
                [(name, *pair) for name, pair in counts.items()],
            )
        },
    )


def judged(trial: Trial) -> dict[str, tuple[int, int]]:
    """(accepted, with a miss in simulation) of each assignment, over random sets."""
    found = {"algorithm 1": [0, 0], "largest sets": [0, 0]}
    for seed in trial.each(range(trial.pick(12, 400))):
        loads = random_loads(Random(seed))
        packed = ports.assign_levels([each.flow for each in loads], LEVELS)
        levels = {
            "algorithm 1": algorithm1(loads),
            "largest sets": list(packed.level) if isinstance(packed, ports.Assigned) else None,
        }
        for name, level in levels.items():
            if level is not None:
                found[name][0] += 1
                found[name][1] += worst_excess(loads, level) > 1e-6
    return {name: (accepted, missed) for name, (accepted, missed) in found.items()}


def draw(tables: Mapping[str, Table]) -> Figure:
    """Accepted sets, and those in which a flow waits longer than it can stand."""
    figure, (axes,) = drawing.canvas(wide=5.4)
    table = tables["levels"]
    shown = (
        ("sets_accepted", drawing.COLOURS[4], "accepted"),
        ("sets_with_a_miss", drawing.COLOURS[0], "with a miss"),
    )
    for place, (name, colour, text) in enumerate(shown):
        at = [n + 0.34 * (place - 0.5) for n in range(len(table.rows))]
        axes.bar(at, table.column(name), width=0.32, color=colour, label=text)
        for x, y in zip(at, table.column(name), strict=True):
            axes.annotate(str(y), (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8)
    axes.set_xticks(range(len(table.rows)), ["Algorithm 1 with (5)", "largest sets with (N1)"])
    drawing.label(axes, title="Random sets of three to six flows at one port", x="", y="sets")
    return figure
