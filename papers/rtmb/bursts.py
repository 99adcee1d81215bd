"""Several switches: bursts grow on the way, and the frames of a message overlap on the wires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from giusto.contract import Offer
from giusto.guarantee import ports
from giusto.papers import Findings, Table, Trial, drawing

from .switches import MS, SLOW, Sender, send

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOWS, HELD_MS = 6, 4
FRAME_BYTES = 10
# How much faster the first links are, so that they hold nothing back.
FASTER = 20
FRAMES = 10


def second_switch_ms() -> float:
    """Wait of a frame at s2 beside six limited flows, 1 ms at once and a tenth of the link, held up for 4 ms.

    Each babbles at a switch of its own, whose port is busy with something more urgent for 4 ms; what its
    limiter let through meanwhile then comes at once.
    """
    senders: list[Sender] = []
    for n in range(FLOWS):
        held = Sender(
            name=f"held{n}",
            times_ns=[n * MS // 50 for n in range(50 * HELD_MS)],
            size_bytes=FRAME_BYTES,
            path=(f"a{n}", "s2", "end"),
            offer=Offer(rate="10/1ms", burst=100),
        )
        holding = Sender(
            name=f"holding{n}",
            times_ns=[0],
            size_bytes=1000 * HELD_MS * FASTER,
            level=1,
            path=(f"a{n}", "s2"),
        )
        senders += [held, holding]
    # The first frames of all flows are at s2 when this one comes; it is of their level.
    late_ns = HELD_MS * MS + 140 * FRAME_BYTES * 1000 // FASTER
    senders.append(Sender(name="probe", times_ns=[late_ns], size_bytes=FRAME_BYTES, path=("s2", "end")))
    speeds = {(f"a{n}", "s2"): SLOW * FASTER for n in range(FLOWS)}
    return max(send(senders, speeds=speeds).waits_ms("probe", 0.01))


def pipelined_ms() -> float:
    """Latency of a message of 1 ms in ten frames over the publisher's link and three switches."""
    times_ns = [(n + 1) * MS // FRAMES for n in range(FRAMES)]
    path = ("s1", "s2", "s3", "end")
    seen = send([Sender(name="message", times_ns=times_ns, size_bytes=1000 // FRAMES, path=path)])
    return max(frame.received_ns for frame in seen.frames["message"]) / MS


def measure(trial: Trial) -> Findings:
    """Each case once: nothing in them is random."""
    del trial
    burst, fixed = second_switch_ms(), pipelined_ms()
    probe = ports.Flow(MS // 100, 1000 * MS)
    flow = ports.Flow(
        MS, 10 * MS, jitter_ns=HELD_MS * MS, shortest_frame_ns=MS // 100, longest_frame_ns=MS // 100
    )
    bound = ports.queueing(probe, [], [flow] * FLOWS, 0)
    hops = [ports.Hop(name) for name in ("s1", "s2", "s3")]
    frame = 1000 // FRAMES
    request = ports.Request(
        "message",
        1000,
        100 * MS,
        10 * MS,
        hops,
        SLOW // 8,
        shortest_frame_bytes=frame,
        longest_frame_bytes=frame,
    )
    least = ports.fixed_latency(request, {hop.port: ports.Port(SLOW // 8) for hop in hops})
    return Findings(
        {"recursion-burst": burst, "recursion-burst-true": burst, "fixed": fixed, "fixed-true": fixed},
        {
            "bursts": Table(
                ("case", "published_ms", "simulated_ms", "corrected_ms"),
                [("recursion", 6.0, burst, float(bound / MS)), ("fixed", 4.0, fixed, float(least / MS))],
            )
        },
    )


TITLES = (
    "Wait at s2 beside six flows\nthat s1 held up for 4 ms",
    "Ten frames over four links,\nempty queues",
)
LABELS = (("minSep’ and M", "simulated", "(N1), M + UJ"), ("(2)", "simulated", "corrected"))


def draw(tables: Mapping[str, Table]) -> Figure:
    """A panel for each."""
    figure, panels = drawing.canvas(1, 2, wide=3.6)
    for axes, row, title, labels in zip(panels, tables["bursts"].rows, TITLES, LABELS, strict=True):
        values = [float(value) for value in row[1:]]
        axes.bar(range(3), values, color=("black", *drawing.COLOURS[:2]), width=0.6)
        for x, y in enumerate(values):
            axes.annotate(
                f"{y:.3g}", (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8
            )
        axes.set_xticks(range(3), labels)
        axes.set_ylim(0, max(values) * 1.15)
        drawing.label(axes, title=title, x="", y="ms", legend=False)
    return figure
