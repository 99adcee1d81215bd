"""The printed formulas of sections V and VI beside the scheduler at work, each where it goes wrong.

Times are in quanta. giusto's broker does not look at empty queues; one that keeps their slots waits longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from giusto import sim
from giusto.papers import Findings, Table, Trial, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNIT_NS = 1_000_000


def order(weights: Sequence[int], cells: int) -> list[int]:
    """The topics of so many cells, one client each, all queues full."""
    streams = [sim.Stream(topic=str(n), client="c", times_ns=[0] * (cells + 1)) for n in range(len(weights))]
    served = sim.serve("twrr", topics(weights), streams).order()
    return [int(name) for name in served[:cells]]


def topics(weights: Sequence[int]) -> list[sim.Topic]:
    return [sim.Topic(name=str(n), service_ns=UNIT_NS, weight=weight) for n, weight in enumerate(weights)]


def cycle(weights: Sequence[int]) -> int:
    """Cells until the order repeats."""
    seen = order(weights, 4 * sum(weights))
    return next(n for n in range(1, len(seen)) if seen[: 3 * sum(weights)] == seen[n : n + 3 * sum(weights)])


def longest(weights: Sequence[int], topic: int, n: int) -> int:
    """From the end of a cell of the topic to the start of its n-th next one, at worst."""
    at = [place for place, each in enumerate(order(weights, 6 * sum(weights))) if each == topic]
    return max(later - place - 1 for place, later in zip(at, at[n:], strict=False))


def worst(weights: Sequence[int], clients: int, own_ns: Sequence[int], phases: Sequence[int]) -> float:
    """The longest response of one client of topic 0 whose messages come that long after a phase."""
    count = len(own_ns)
    delays = []
    for phase_ns in phases:
        streams = [
            sim.Stream(topic=str(n), client=str(client), times_ns=[0] * (2 * count * weight + 40))
            for n, weight in enumerate(weights)
            for client in range(clients)
            if (n, client) != (0, 0)
        ]
        own = sim.Stream(topic="0", client="0", times_ns=[phase_ns + at_ns for at_ns in own_ns])
        run = sim.serve("twrr", topics(weights), [own, *streams])
        delays += [done.delay_ns for done in run.completions if (done.topic, done.client) == ("0", "0")]
    return max(delays) / UNIT_NS


def periodic(period: Fraction, count: int) -> list[int]:
    """Instants of a periodic flow, rounded up."""
    return [ceil(n * period * UNIT_NS) for n in range(count)]


def measure(trial: Trial) -> Findings:
    """Every formula where a small case shows what is wrong."""
    phases = [n * UNIT_NS + 1 for n in range(trial.pick(30, 90))]
    growing = worst([1], 2, periodic(Fraction(5, 3), trial.pick(60, 600)), phases[:2])
    steady = worst([1], 2, periodic(Fraction(2), trial.pick(60, 600)), phases[:2])
    burst = worst([1], 1, [0] * 10, [0])
    second = worst([3, 2, 2, 2], 1, periodic(Fraction(1000, 333), 12), phases)
    own = worst([4, 3, 2], 3, periodic(Fraction(27, 4), 12), phases)
    values = {
        "cycle": cycle([4, 2]),
        "own-cell": longest([2, 1], 0, 2),
        "window": longest([3, 2], 0, 2),
        "overload": growing <= 2 * steady,
        "overload-true": steady,
        "theorem1": burst,
        "theorem2": second,
        "theorem2-example": own,
    }
    cases = {
        "cycle 4, 2\n(cells)": (6, values["cycle"]),
        "(11)\n2, 1": (1, values["own-cell"]),
        "(13)\n3, 2": (2, values["window"]),
        "(14)\nburst 10": (1, burst),
        "(15)\n3, 2, 2, 2": (4, second),
        "(15)\n4, 3, 2": (9, own),
    }
    rows = [(name.replace("\n", " "), printed, seen) for name, (printed, seen) in cases.items()]
    corrected = {f"{name}-true": value for name, value in values.items() if "overload" not in name}
    return Findings({**values, **corrected}, {"formulas": Table(("case", "published", "simulated"), rows)})


def draw(tables: Mapping[str, Table]) -> Figure:
    """Published and simulated, side by side."""
    figure, (axes,) = drawing.canvas(wide=6.4)
    table = tables["formulas"]
    shown = (("published", "black", -0.17), ("simulated", drawing.COLOURS[0], 0.17))
    for name, colour, shift in shown:
        at = [case + shift for case in range(len(table.rows))]
        axes.bar(at, table.column(name), width=0.32, color=colour, label=name)
        for x, y in zip(at, table.column(name), strict=True):
            axes.annotate(
                f"{y:.4g}", (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8
            )
    labels = [name.replace(" ", "\n", 1) for name in table.column("case")]
    axes.set_xticks(range(len(labels)), labels)
    title = "Formulas and weights where they go wrong"
    drawing.label(axes, title=title, x="", y="cells or quanta")
    return figure
