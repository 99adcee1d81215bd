"""Section IV-E: the printed waiting time of a topic, and what it says about stability, against simulation.

The printed formula counts ⌈w_i/w_k⌉ messages of every topic k with w_k <= w_i, w = min(d, 1/r). It is called
an average; it is neither that nor a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from giusto import sim
from giusto.guarantee import edf, fair
from giusto.papers import Findings, Table, Trial, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNIT_NS = 1_000_000


def printed_wait(w: Sequence[Fraction], topic: int) -> int:
    """The printed formula in services."""
    return sum(ceil(w[topic] / other) for k, other in enumerate(w) if k != topic and other <= w[topic])


class Case(NamedTuple):
    """Virtual rates and deadlines; the first topic is looked at, the others always have messages."""

    rates: tuple[int, ...]
    deadlines: tuple[Fraction, ...]

    def printed(self) -> int:
        """The formula for the topic that is looked at."""
        w = [min(d, Fraction(1, r)) for r, d in zip(self.rates, self.deadlines, strict=True)]
        return printed_wait(w, 0)

    def bound(self) -> float:
        """(V1) for one message, without its own service."""
        return float(fair.completion(self.rates, self.deadlines, 0, 1, 1) - 1)

    def waits(self, phases_ns: Sequence[int]) -> list[float]:
        """Waits of single messages that arrive that long after a busy service began, in services."""
        names = [f"t{n}" for n in range(len(self.rates))]
        # The topic that is looked at comes last, and so loses ties.
        topics = [
            sim.Topic(name=name, service_ns=UNIT_NS, rate=rate, virtual_deadline=deadline)
            for name, rate, deadline in zip(names, self.rates, self.deadlines, strict=True)
        ]
        topics.append(topics.pop(0))
        gap = 50 * len(names)
        times_ns = [(n + 1) * gap * UNIT_NS + phase_ns for n, phase_ns in enumerate(phases_ns)]
        # Enough messages of the others to keep the processor busy all the time.
        flood = [0] * min(65_535, gap * (len(phases_ns) + 3))
        streams = [sim.Stream(topic=name, client=name, times_ns=flood) for name in names[1:]]
        streams.append(sim.Stream(topic=names[0], client="one", times_ns=times_ns))
        run = sim.serve("fair", topics, streams)
        found = [done for done in run.completions if done.topic == names[0]]
        return [(done.selected_ns - done.arrived_ns) / UNIT_NS for done in found]


# A short deadline is no short spacing; and topics of a longer deadline are served before, too.
SHORT = Case((1, 1), (Fraction(1), Fraction(1, 100)))
OTHERS = Case((10, 1, 1, 1, 1, 1), (Fraction(1, 10), *[Fraction(1)] * 5))


def measure(trial: Trial) -> Findings:
    """Waits over all phases, delays at two service rates, and random sets of deadlines."""
    phases_ns = [n * UNIT_NS // trial.pick(20, 200) + 1 for n in range(trial.pick(20, 200))]
    short, others = SHORT.waits(phases_ns), OTHERS.waits(phases_ns)
    count = trial.pick(200, 2_000)
    growing, steady = delays(Fraction(3, 2), count), delays(Fraction(2), count)
    counts = judged(trial, trial.pick(150, 1_500))
    cases = (
        ("r = 1, d = 1 beside r = 1, d = 0.01", SHORT, short),
        ("r = 10 beside five of r = 1", OTHERS, others),
    )
    return Findings(
        {
            "waiting-short": sum(short) / len(short),
            "waiting-short-true": max(short),
            "waiting-others": sum(others) / len(others),
            "waiting-others-true": max(others),
            "stability": is_steady(growing),
            "stability-true": max(steady),
            "stability-deadlines": counts.accepted_bad,
            "stability-rejects": counts.rejected_good,
            "stability-deadlines-true": counts.proved_bad,
        },
        {
            "waiting": Table(
                ("case", "printed", "mean", "worst", "bound"),
                [
                    (name, case.printed(), sum(seen) / len(seen), max(seen), case.bound())
                    for name, case, seen in cases
                ],
            ),
            "waiting-stability": Table(
                ("message", "delay_at_1.5", "delay_at_2"),
                [(n, growing[n], steady[n]) for n in range(0, count, count // 100)],
            ),
        },
    )


def delays(service_rate: Fraction, count: int) -> list[float]:
    """Two topics with one message per unit each: delays of the first, in units."""
    topics = [sim.Topic(name=name, service_ns=int(UNIT_NS / service_rate), rate=1) for name in "ba"]
    streams = [
        sim.Stream(topic=name, client=name, times_ns=[n * UNIT_NS for n in range(count)]) for name in "ab"
    ]
    return [delay_ns / UNIT_NS for delay_ns in sim.serve("fair", topics, streams).delays_ns("a")]


def is_steady(seen: Sequence[float]) -> bool:
    """Whether the last tenth of all delays is no longer than the tenth in the middle."""
    tenth = len(seen) // 10
    return max(seen[-tenth:]) <= max(seen[len(seen) // 2 : len(seen) // 2 + tenth])


Task = tuple[int, int, int]


class Counts(NamedTuple):
    """Random sets that miss a deadline though a test accepts them, or miss none though it does not."""

    accepted_bad: int
    rejected_good: int
    proved_bad: int


def judged(trial: Trial, sets: int) -> Counts:
    """The printed test and (E1), against what is seen."""
    accepted_bad = rejected_good = proved_bad = 0
    for seed in trial.each(range(sets)):
        rng = Random(seed)
        periods = [rng.randint(3, 30) for _ in range(rng.randint(2, 5))]
        tasks = [(1, period, rng.randint(1, period)) for period in periods]
        misses, accepted, proved = has_miss(tasks), is_accepted(tasks), edf.feasible(tasks)
        accepted_bad += misses and accepted
        rejected_good += not accepted and proved and not misses
        proved_bad += misses and proved
    return Counts(accepted_bad, rejected_good, proved_bad)


def is_accepted(tasks: Sequence[Task]) -> bool:
    """Printed: the waiting time of every topic is less than 1/r."""
    w = [Fraction(min(deadline, period)) for _, period, deadline in tasks]
    return all(printed_wait(w, i) < period for i, (_, period, _) in enumerate(tasks))


def has_miss(tasks: Sequence[Task]) -> bool:
    """Whether a deadline is missed when all topics start at once, behind any one that had just begun."""
    return any(misses_behind(tasks, blocker) for blocker in [None, *range(len(tasks))])


def misses_behind(tasks: Sequence[Task], blocker: int | None) -> bool:
    """The same with the blocker given: it comes one nanosecond earlier than the others."""
    topics, streams = [], []
    for n, (cost, period, deadline) in enumerate(tasks):
        topics.append(
            sim.Topic(
                name=str(n),
                service_ns=cost * UNIT_NS,
                period_ns=period * UNIT_NS,
                deadline_ns=deadline * UNIT_NS,
            )
        )
        start_ns = 0 if n == blocker else 1
        times_ns = [start_ns + k * period * UNIT_NS for k in range(200 // period)]
        streams.append(sim.Stream(topic=str(n), client=str(n), times_ns=times_ns))
    run = sim.serve("edf", topics, streams)
    return any(
        (worst := run.worst_ns(str(n))) is not None and worst > deadline * UNIT_NS
        for n, (_, _, deadline) in enumerate(tasks)
    )


def draw(tables: Mapping[str, Table]) -> Figure:
    """Waits beside the printed ones, and delays at a service rate that the printed test accepts."""
    figure, (left, right) = drawing.canvas(1, 2)
    bars(left, tables["waiting"])
    stability(right, tables["waiting-stability"])
    return figure


def bars(axes: Axes, table: Table) -> None:
    shown = {
        "printed": "black",
        "mean": drawing.COLOURS[4],
        "worst": drawing.COLOURS[0],
        "bound": drawing.COLOURS[1],
    }
    labels = ("printed “average”", "simulated mean", "simulated worst", "(V1)")
    for place, ((name, colour), text) in enumerate(zip(shown.items(), labels, strict=True)):
        at = [case + 0.2 * (place - 1.5) for case in range(len(table.rows))]
        axes.bar(at, table.column(name), width=0.18, color=colour, label=text)
        for x, y in zip(at, table.column(name), strict=True):
            axes.annotate(
                f"{y:.3g}", (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8
            )
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0, 1000)
    axes.set_xticks(range(len(table.rows)), table.column("case"))
    drawing.label(axes, title="Wait before the own service", x="", y="services")


def stability(axes: Axes, table: Table) -> None:
    messages = table.column("message")
    for name, colour, text in (("delay_at_1.5", 0, "μ = 1.5: printed “stable”"), ("delay_at_2", 1, "μ = 2")):
        axes.plot(messages, table.column(name), color=drawing.COLOURS[colour], label=text)
    title = "Two topics of one message per unit"
    drawing.label(axes, title=title, x="message", y="delay, units")
