"""(15) in the setting of section VII when all six clients publish all topics: what it promises, what happens.

One flow is looked at: periodic, as fast as the overload constraint allows; all other queues are always full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from giusto import sim
from giusto.guarantee import twrr
from giusto.papers import Findings, Table, Trial, drawing

from .setting import CLIENTS, MS, RELAY_NS, SEARCH_NS, WEIGHTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTUM_NS = RELAY_NS + SEARCH_NS
ALL = (CLIENTS,) * len(WEIGHTS)
# The first topic of each weight.
TOPICS = (0, 5, 10, 15)


def printed_ns(topic: int) -> int:
    """(15), with cells as long as the paper says: one quantum for each client."""
    cells = len(WEIGHTS) + sum(WEIGHTS[m] - WEIGHTS[topic] for m in range(topic))
    return cells * CLIENTS * QUANTUM_NS


def bound_ns(topic: int) -> Fraction:
    """(T4); the broker does not look at empty queues."""
    rate = twrr.service_rate(WEIGHTS, ALL, topic, QUANTUM_NS)
    return twrr.response(WEIGHTS, ALL, topic, 1, rate, QUANTUM_NS)


def visits_ns(topic: int) -> list[int]:
    """Instants in the first cycle just after client 1's queue was passed by; all others are full."""
    now_ns, found = 0, []
    for cell in twrr.cells(WEIGHTS):
        if cell == topic:
            found.append(now_ns + 1)
        now_ns += (CLIENTS - (cell == topic)) * QUANTUM_NS
    return found


def responses_ns(topic: int, phase_ns: int) -> list[int]:
    """Responses of client 1's messages when the first comes at `phase_ns`, for one cycle."""
    weight = WEIGHTS[topic]
    period_ns = ceil(1 / twrr.service_rate(WEIGHTS, ALL, topic, QUANTUM_NS))
    topics = [sim.Topic(name=str(n), service_ns=QUANTUM_NS, weight=each) for n, each in enumerate(WEIGHTS)]
    own = [phase_ns + n * period_ns for n in range(weight)]
    # Three cycles of work for everybody else: more than is looked at.
    streams = [
        sim.Stream(
            topic=str(n),
            client=str(client),
            times_ns=own if (n, client) == (topic, 0) else [0] * (3 * WEIGHTS[n]),
        )
        for client in range(CLIENTS)
        for n in range(len(WEIGHTS))
    ]
    done = sim.serve("twrr", topics, streams).completions
    return [each.delay_ns for each in done if (each.topic, each.client) == (str(topic), "0")]


def measure(trial: Trial) -> Findings:
    """The longest response over the phases that can be worst, for one topic of each weight."""
    rows: list[tuple[int | float, ...]] = []
    for topic in trial.each(TOPICS):
        worst_ns = max(each for phase_ns in visits_ns(topic) for each in responses_ns(topic, phase_ns))
        rows.append((WEIGHTS[topic], printed_ns(topic) / MS, worst_ns / MS, float(bound_ns(topic) / MS)))
    return Findings(
        {
            "theorem2-section7": rows[0][2],
            "theorem2-section7-true": rows[0][2],
            "theorem2-light": rows[-1][2],
            "table1-bound": printed_ns(0) / CLIENTS / MS,
        },
        {"bounds": Table(("weight", "published_ms", "simulated_ms", "bound_ms"), rows)},
    )


def draw(tables: Mapping[str, Table]) -> Figure:
    """Published, simulated and (T4), one group for each weight."""
    figure, (axes,) = drawing.canvas(wide=6)
    table = tables["bounds"]
    shown: Sequence[tuple[str, str, str]] = (
        ("published_ms", "black", "(15), as published"),
        ("simulated_ms", drawing.COLOURS[0], "simulated maximum"),
        ("bound_ms", drawing.COLOURS[1], "(T4)"),
    )
    for place, (name, colour, text) in enumerate(shown):
        at = [group + 0.26 * (place - 1) for group in range(len(table.rows))]
        axes.bar(at, table.column(name), width=0.24, color=colour, label=text)
        for x, y in zip(at, table.column(name), strict=True):
            axes.annotate(
                f"{y:.2f}", (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=7
            )
    axes.set_xticks(range(len(table.rows)), [f"weight {weight}" for weight in table.column("weight")])
    title = "Worst response of a periodic flow, six clients on all 20 topics"
    drawing.label(axes, title=title, x="", y="response, ms")
    return figure
