"""Section 5, several switches: how queueing at one switch brings messages closer together at the next."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from giusto.papers import Findings, Table, Trial, drawing

from .switches import MS, Sender, send, units

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEFORE, AFTER = "one flow above f", "a second flow above f"


def arrivals_ms(delayed_ms: int, count: int) -> list[float]:
    """When messages of f, sent every 20 ms, are at s2; the first meets so many ms of more urgent traffic."""
    senders = [
        Sender(name="f", times_ns=units(*range(0, 20 * count, 20)), size_bytes=100, path=("s1", "s2")),
        Sender(name="g", times_ns=[0], size_bytes=1000 * delayed_ms, level=1, path=("s1", "s2")),
    ]
    return [frame.received_ns / MS for frame in send(senders).frames["f"]]


def least_ms(times_ms: list[float]) -> float:
    return min(later - earlier for earlier, later in pairwise(times_ms))


def measure(trial: Trial) -> Findings:
    """The two cases of the text: 3 ms of queueing, then 10 ms."""
    count = trial.pick(5, 50)
    seen = {BEFORE: arrivals_ms(3, count), AFTER: arrivals_ms(10, count)}
    rows = [(name, n, at_ms) for name, times_ms in seen.items() for n, at_ms in enumerate(times_ms[:5])]
    return Findings(
        {"separation-3": round(least_ms(seen[BEFORE]), 6), "separation-10": round(least_ms(seen[AFTER]), 6)},
        {"separation": Table(("case", "message", "at_s2_ms"), rows)},
    )


def draw(tables: Mapping[str, Table]) -> Figure:
    """Arrivals at the second switch on a line of time."""
    figure, (axes,) = drawing.canvas(wide=7, high=2.4)
    table = tables["separation"]
    for place, name in enumerate((BEFORE, AFTER)):
        times_ms = table.column("at_s2_ms", case=name)
        axes.plot(times_ms, [place] * len(times_ms), "o", color=drawing.COLOURS[place])
        axes.annotate(
            "",
            (times_ms[0], place),
            (times_ms[1], place),
            arrowprops={"arrowstyle": "<->", "color": "#64748b"},
        )
        middle = (times_ms[0] + times_ms[1]) / 2
        axes.annotate(f"{times_ms[1] - times_ms[0]:.3g} ms", (middle, place + 0.12), ha="center", fontsize=8)
    axes.set_yticks([0, 1], [BEFORE, AFTER])
    axes.set_ylim(-0.5, 1.6)
    drawing.label(axes, title="Messages of f, 20 ms apart, as s2 sees them", x="time, ms", y="", legend=False)
    return figure
