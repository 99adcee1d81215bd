"""Two pictures for the page: how many messages each peer carries, and what a flood does to a quiet topic."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from benchmarks.peers.page import PICTURES
from benchmarks.peers.rounds import Rounds
from benchmarks.run import readable
from matplotlib import pyplot
from matplotlib.axes import Axes

OURS, THEIRS, LIMIT = "#c2410c", "#64748b", "#cbd5e1"


def draw(rounds: Rounds, folder: Path) -> None:
    """Write both pictures."""
    mpl.use("Agg")
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    throughput(rounds, folder / PICTURES["throughput"])
    delay(rounds, folder / PICTURES["flood"])


def colour(peer: str) -> str:
    if peer == "relay":
        return LIMIT
    return OURS if peer.startswith("giusto") else THEIRS


def throughput(rounds: Rounds, file: Path) -> None:
    """Raw sockets at the left, Python clients at the right, on scales of their own."""
    figure, (raw, python) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    bars(raw, rounds, "throughput", 1e6, "million messages per second, raw sockets")
    bars(python, rounds, "python", 1e3, "thousand messages per second, Python to Python")
    figure.savefig(file, dpi=130)
    pyplot.close(figure)


def bars(axes: Axes, rounds: Rounds, measure: str, scale: float, title: str) -> None:
    """One bar for each peer, the fastest on top, with the spread over the rounds."""
    found = [(peer, rounds.spread(measure, peer, "rate")) for peer in rounds.peers(measure)]
    spreads = sorted(
        ((peer, spread) for peer, spread in found if spread is not None), key=lambda one: one[1].middle
    )
    names = [peer for peer, _ in spreads]
    middles = [spread.middle / scale for _, spread in spreads]
    below = [(spread.middle - spread.low) / scale for _, spread in spreads]
    above = [(spread.high - spread.middle) / scale for _, spread in spreads]
    axes.barh(names, middles, xerr=[below, above], color=[colour(peer) for peer in names], ecolor="#334155")
    for place, (middle, more) in enumerate(zip(middles, above, strict=True)):
        end = (middle + more, place)
        axes.annotate(readable(middle), end, xytext=(4, 0), textcoords="offset points", va="center")
    axes.margins(x=0.12)
    axes.set_title(title, fontsize=9)


def delay(rounds: Rounds, file: Path) -> None:
    """From p50 (the dot) to p95, for each peer and each situation, on a logarithmic scale."""
    figure, panels = pyplot.subplots(1, 3, figsize=(9, 2.8), layout="constrained", sharex=True)
    cases = [("latency-5000", "", "at 5,000/s"), ("flood", "alone_", "at 1,000/s, alone"),
             ("flood", "beside_", "at 1,000/s, beside a flood")]  # fmt: skip
    for axes, (measure, prefix, title) in zip(panels, cases, strict=True):
        lines(axes, rounds, measure, prefix)
        axes.set_title(f"delay {title}, µs", fontsize=9)
        axes.set_xscale("log")
    figure.savefig(file, dpi=130)
    pyplot.close(figure)


def lines(axes: Axes, rounds: Rounds, measure: str, prefix: str) -> None:
    """A line from p50 to p95 with a dot at p50."""
    for peer in reversed(rounds.peers(measure)):
        middle = rounds.spread(measure, peer, f"{prefix}p50_us")
        tail = rounds.spread(measure, peer, f"{prefix}p95_us")
        if middle is None or tail is None:
            continue
        shade = LIMIT if peer == "relay" else colour(peer)
        axes.plot([middle.middle, tail.middle], [peer, peer], color=shade, linewidth=3, solid_capstyle="butt")
        axes.plot([middle.middle], [peer], "o", color=shade, markersize=7)
