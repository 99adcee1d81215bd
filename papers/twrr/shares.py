"""Table I, θ of client 1: what part of all quanta it gets when every queue is full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from giusto import sim
from giusto.guarantee import twrr
from giusto.papers import Findings, Table, Trial, drawing

from .setting import CLIENTS, RELAY_NS, SEARCH_NS, SECONDS, WEIGHTS, matrix_in, topics_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PUBLISHED = (30.30, 19.39, 8.48, 24.85, 13.94)


def measure(trial: Trial) -> Findings:
    """Served parts of all clients in each second; and an example that (4) gets wrong."""
    cycles = trial.pick(1, 20)
    seconds = [matrix_in(second) for second in trial.each(range(SECONDS + 1))]
    counted = [served(WEIGHTS, matrix, cycles) for matrix in seconds]
    fig4 = [[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]]
    first = served((4, 3, 2), fig4, 1)[0]
    return Findings(
        {
            **{f"theta-{n}": 100 * counted[n][0] / sum(counted[n]) for n in range(SECONDS)},
            "theta-six": "+".join(str(part // cycles) for part in sorted(counted[0], reverse=True)),
            "client-time": first,
            "client-time-true": first,
        },
        {
            "shares": Table(
                ("second", "client", "served_percent", "theta_percent"),
                [
                    (second, client + 1, 100 * count / sum(counts), 100 * float(part))
                    for second, (counts, matrix) in enumerate(zip(counted, seconds, strict=True))
                    for client, (count, part) in enumerate(
                        zip(counts, twrr.allotment(WEIGHTS, matrix).client_time, strict=True)
                    )
                ],
            ),
        },
    )


def served(weights: tuple[int, ...], matrix: list[list[int]], cycles: int) -> list[int]:
    """Quanta that each client gets in so many cycles, when every queue is full all the time."""
    topics = [
        sim.Topic(name=str(n), service_ns=RELAY_NS + SEARCH_NS, weight=weight)
        for n, weight in enumerate(weights)
    ]
    # One more than is served, so that nobody is idle at the end.
    streams = [
        sim.Stream(topic=str(topic), client=str(client), times_ns=[0] * (weights[topic] * cycles + 1))
        for client, row in enumerate(matrix)
        for topic, entry in enumerate(row)
        if entry
    ]
    quanta = cycles * sum(weights[topic] * entry for row in matrix for topic, entry in enumerate(row))
    done = Counter(each.client for each in sim.serve("twrr", topics, streams).completions[:quanta])
    return [done[str(client)] for client in range(len(matrix))]


def draw(tables: Mapping[str, Table]) -> Figure:
    """Who publishes what in the first second, and the shares of client 1."""
    figure, (left, right) = drawing.canvas(1, 2)
    members(left)
    bars(right, tables["shares"])
    return figure


def members(axes: Axes) -> None:
    for client in range(CLIENTS):
        topics = [topic + 1 for topic in topics_of(client, 0)]
        axes.plot(topics, [client + 1] * len(topics), "s", color=drawing.COLOURS[0], markersize=7)
        total = sum(WEIGHTS[topic - 1] for topic in topics)
        axes.annotate(f"{total}/165", (21, client + 1), va="center", fontsize=8)
    for border in (5.5, 10.5, 15.5):
        axes.axvline(border, color="#94a3b8", linewidth=1)
    for middle, weight in zip((3, 8, 13, 18), (10, 7, 4, 1), strict=True):
        axes.annotate(f"weight {weight}", (middle, 0.35), ha="center", va="center", fontsize=8)
    axes.set_xlim(0, 24)
    axes.set_ylim(CLIENTS + 0.6, 0)
    axes.set_xticks(range(1, 21, 3))
    drawing.label(axes, title="MatrixIN of the first second", x="topic", y="client", legend=False)


def bars(axes: Axes, table: Table) -> None:
    ours = table.column("served_percent", client=1)
    axes.bar(range(len(ours)), ours, width=0.5, color=drawing.COLOURS[0], label="served, all queues full")
    drawing.published_points(axes, list(range(SECONDS)), list(PUBLISHED), "Table I")
    for second, percent in enumerate(ours):
        axes.annotate(
            f"{percent:.2f}",
            (second, percent),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    axes.set_ylim(0, 36)
    axes.set_xticks(range(len(ours)), [f"{n}–{n + 1}" for n in range(len(ours))])
    drawing.label(axes, title="θ of client 1", x="second", y="part of all quanta, %")
