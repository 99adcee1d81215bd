"""Several switches: admission by budgets and jitter, against the printed recursion minSep' = minSep - q."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from giusto.guarantee import ports
from giusto.papers import Findings, Table, Trial, drawing

from .switches import MS, SLOW, Sender, send

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPEED = SLOW // 8
CHAIN = ("s1", "s2", "s3", "end")


@dataclass(frozen=True, slots=True)
class Asked:
    """A flow that enters at one switch of the chain and leaves it behind another; times in ms."""

    wire_bytes: int
    min_sep_ms: int
    max_latency_ms: int
    first: int
    last: int

    def request(self, name: str) -> ports.Request:
        """As admission takes it; the publisher's own link is as fast as all others."""
        hops = [ports.Hop(CHAIN[k]) for k in range(self.first, self.last + 1)]
        return ports.Request(
            name, self.wire_bytes, self.min_sep_ms * MS, self.max_latency_ms * MS, hops, SPEED
        )


def random_set(rng: Random) -> list[Asked]:
    """Four to eight flows over a chain of three switches."""
    asked = []
    for _ in range(rng.randint(4, 8)):
        first = rng.randint(0, 2)
        wire = rng.randint(300, 2000)
        asked.append(Asked(wire, rng.randint(8, 20), rng.randint(6, 25), first, rng.randint(first, 2)))
    return asked


Ports = dict[str, ports.Port]
EMPTY: Ports = {name: ports.Port(SPEED, blocking_bytes=0) for name in CHAIN[:3]}


def admitted(asked: Sequence[Asked]) -> tuple[Ports, dict[str, ports.Assigned]] | None:
    """The ports with all flows in them and their levels there, or None if one flow is denied."""
    known = EMPTY
    levels: dict[str, ports.Assigned] = {}
    for n, each in enumerate(asked):
        result = ports.path_admission(each.request(str(n)), known)
        if isinstance(result, ports.Denied):
            return None
        known, levels = result.ports, {**levels, **result.levels}
    return known, levels


def recursion_admits(known: Ports) -> bool:
    """The same budgets with the printed recursion: separations shrink, bursts stay one message."""
    for port in known.values():
        flows = [shrunk(flow) for flow in port.flows.values()]
        if any(flow is None for flow in flows):
            return False
        kept = [flow for flow in flows if flow is not None]
        if isinstance(ports.assign_levels(kept, port.levels), ports.Unassigned):
            return False
    return True


def shrunk(flow: ports.Flow) -> ports.Flow | None:
    """minSep' = minSep less what earlier switches may have added; None if nothing is left."""
    left = flow.min_sep_ns - flow.jitter_ns
    if left <= 0:
        return None
    return ports.Flow(flow.wire_ns, left, budget_ns=flow.budget_ns)


def priorities(levels: Mapping[str, ports.Assigned], known: Ports) -> dict[str, int] | None:
    """The level of each flow if it is the same at all its ports; a simulated frame keeps its priority."""
    found: dict[str, int] = {}
    for port, assigned in levels.items():
        for name, level in zip(known[port].flows, assigned.level, strict=True):
            if found.setdefault(name, level) != level:
                return None
    return found


def parts(asked: Sequence[Asked], level: Mapping[str, int], rng: Random) -> list[float]:
    """The longest latency of each flow as a part of what it asked for; all at once or at random phases."""
    together = rng.random() < 0.5
    senders = []
    for n, each in enumerate(asked):
        start_ns = 0 if together else rng.randint(0, each.min_sep_ms * MS)
        senders.append(
            Sender(
                name=str(n),
                times_ns=[start_ns + k * each.min_sep_ms * MS for k in range(20)],
                size_bytes=each.wire_bytes,
                level=level[str(n)],
                path=CHAIN[each.first : each.last + 2],
            )
        )
    seen = send(senders)
    # Latency counts from the start on the publisher's own link.
    return [
        (max(frame.delay_ms for frame in seen.frames[str(n)]) + each.wire_bytes / 1000) / each.max_latency_ms
        for n, each in enumerate(asked)
    ]


def measure(trial: Trial) -> Findings:
    """Random sets: which are admitted, and what is seen of those."""
    sets = recursion = simulated = 0
    found: list[float] = []
    for seed in trial.each(range(trial.pick(120, 4_000))):
        rng = Random(seed)
        asked = random_set(rng)
        result = admitted(asked)
        if result is None:
            continue
        known, levels = result
        sets += 1
        recursion += recursion_admits(known)
        level = priorities(levels, known)
        if level is not None:
            simulated += 1
            found += [part for _ in range(3) for part in parts(asked, level, rng)]
    found.sort()
    counts = [("jitter", sets), ("recursion", recursion), ("simulated", simulated)]
    return Findings(
        {
            "recursion-applies": recursion == sets,
            "path-admission": sum(part > 1 for part in found),
            "path-worst": found[-1],
        },
        {
            "paths": Table(
                ("flows_percent", "latency_part"),
                [(n / 2, found[n * (len(found) - 1) // 200]) for n in range(201)],
            ),
            "paths-admitted": Table(("test", "sets"), counts),
        },
    )


def draw(tables: Mapping[str, Table]) -> Figure:
    """Latencies of admitted flows beside what they asked for, and how many sets each test admits."""
    figure, (left, right) = drawing.canvas(1, 2)
    table = tables["paths"]
    left.plot(
        table.column("flows_percent"),
        table.column("latency_part"),
        color=drawing.COLOURS[0],
        label="simulated",
    )
    left.axhline(1, color=drawing.COLOURS[1], linestyle="--", label="asked for")
    left.set_ylim(0, 1.2)
    drawing.label(
        left,
        title="Admitted flows over one to three switches",
        x="flows, %",
        y="longest latency / max_latency",
    )
    sets = tables["paths-admitted"]
    counts = [sets.column("sets", test=name)[0] for name in ("jitter", "recursion")]
    right.bar(range(2), counts, color=drawing.COLOURS[:2], width=0.5)
    for x, y in enumerate(counts):
        right.annotate(str(y), (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8)
    right.set_xticks(range(2), ["J’ = J + q", "minSep’ = minSep - q"])
    drawing.label(right, title="Sets admitted with the same budgets", x="", y="sets", legend=False)
    return figure
