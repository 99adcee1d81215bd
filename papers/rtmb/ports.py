"""Equation (5), the wait at one port, where it goes wrong; and (N1), which giusto uses instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from giusto.contract import Offer
from giusto.guarantee import ports
from giusto.papers import Findings, Table, Trial, drawing

from .switches import MS, Sender, send

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GIGABIT = 1_000_000_000


def printed(own: float, higher: list[tuple[float, float]]) -> float:
    """(5): wait of a message with wire time `own` below flows of (wire time, load)."""
    load = sum(each for _, each in higher)
    return (own + sum(wire * (1 - each) for wire, each in higher)) / (1 - load) - own


def blocking_ms() -> float:
    """A short urgent frame behind the longest best-effort frame, which has just begun; 1 Gbit/s."""
    senders = [
        Sender(name="best-effort", times_ns=[0], size_bytes=1538),
        Sender(name="urgent", times_ns=[1], size_bytes=84, level=7),
    ]
    seen = send(senders, speeds={("s1", "end"): GIGABIT})
    return max(seen.waits_ms("urgent", 84 * 8 / GIGABIT * 1000))


def sharing_ms() -> float:
    """Two flows of one level, 1 ms each."""
    senders = [Sender(name=name, times_ns=[0], size_bytes=1000, level=3) for name in "ab"]
    return max(send(senders).waits_ms("b", 1))


def babbling_ms() -> float:
    """A frame of 0.01 ms below a flow that babbles, limited to a load of 0.8 and 1 ms at once."""
    # Frames of 0.01 ms, twice as many as the port can carry, for 12 ms.
    babbler = Sender(
        name="babbler",
        times_ns=[n * MS // 200 for n in range(2400)],
        size_bytes=10,
        level=5,
        offer=Offer(rate="80/1ms", burst=100),
    )
    probe = Sender(name="probe", times_ns=[0], size_bytes=10)
    return max(send([babbler, probe]).waits_ms("probe", 0.01))


def measure(trial: Trial) -> Findings:
    """Each case once: nothing in them is random."""
    del trial
    urgent = ports.Flow(84 * 8, 1_000_000, shortest_frame_ns=84 * 8)
    mate = ports.Flow(MS, 100 * MS)
    probe, babbler = ports.Flow(MS // 100, 1000 * MS), ports.Flow(MS, MS * 5 // 4)
    cases = {
        "blocking": (0.0, blocking_ms(), ports.queueing(urgent, [], [], 1538 * 8)),
        "sharing": (0.0, sharing_ms(), ports.queueing(mate, [], [mate], 0)),
        "babbling": (printed(0.01, [(1, 0.8)]), babbling_ms(), ports.queueing(probe, [babbler], [], 0)),
    }
    values = {name: seen for name, (_, seen, _) in cases.items()}
    rows = [(name, said, seen, float(bound / MS)) for name, (said, seen, bound) in cases.items()]
    return Findings(
        {**values, **{f"{name}-true": seen for name, seen in values.items()}},
        {"ports": Table(("case", "published_ms", "simulated_ms", "bound_ms"), rows)},
    )


LABELS = {
    "blocking": "84 bytes behind\nbest effort, 1 Gbit/s",
    "sharing": "two flows\non one level",
    "babbling": "below a limited\nbabbler",
}


def draw(tables: Mapping[str, Table]) -> Figure:
    """A panel for each case: they differ in scale."""
    figure, panels = drawing.canvas(1, 3, wide=2.6)
    for axes, (case, *row) in zip(panels, tables["ports"].rows, strict=True):
        values = [float(value) for value in row]
        colours = ("black", *drawing.COLOURS[:2])
        axes.bar(range(3), values, color=colours, width=0.6)
        for x, y in enumerate(values):
            axes.annotate(
                f"{y:.4g}", (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8
            )
        axes.set_xticks(range(3), ["(5)", "simulated", "(N1)"])
        axes.set_ylim(0, max(values) * 1.2)
        drawing.label(axes, title=LABELS[str(case)], x="", y="wait, ms", legend=False)
    return figure
