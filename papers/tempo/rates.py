"""Fig. 10(a): delay against the sending rate, up to the 10,000 messages per second at which Tempo saturates.

That rate is an input here: a message takes 0.1 ms. What the paper measured also contains the network, threads
and garbage collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING

from giusto import sim
from giusto.papers import Findings, Table, Trial, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERVICE_NS = 100_000
RATES = (250, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 8_500, 9_000, 9_500, 9_900)
# Averages that the paper gives: Table I (peer to peer), and the bound at 4,000/s.
PUBLISHED = {250: 0.235, 4_000: 0.75}


def measure(trial: Trial) -> Findings:
    """Every rate with constant and with random intervals."""
    seconds = trial.pick(small=1, full=30)
    rows = [
        (rate, sending, *summary(delays(rate, seconds, sending)))
        for rate in trial.each(RATES)
        for sending in ("constant", "random")
    ]
    table = Table(("rate_per_s", "intervals", "mean_ms", "p99_ms", "worst_ms"), rows)
    means = {name: table.column("mean_ms", intervals=name) for name in ("constant", "random")}
    return Findings(
        {
            "rate-4000": means["random"][RATES.index(4_000)],
            "rate-rises": is_rising(means["random"]),
            "rate-rises-constant": is_rising(means["constant"]),
        },
        {"rates": table},
    )


def delays(rate: int, seconds: int, intervals: str) -> list[int]:
    """Delays of one topic alone."""
    rng = Random(rate)
    count = rate * seconds
    if intervals == "random":
        times_ns = [round(at * 1e9) for at in accumulate(rng.expovariate(rate) for _ in range(count))]
    else:
        times_ns = [n * 10**9 // rate for n in range(count)]
    topic = sim.Topic(name="topic", service_ns=SERVICE_NS)
    stream = sim.Stream(topic="topic", client="publisher", times_ns=times_ns)
    return sorted(sim.serve("fair", [topic], [stream]).delays_ns("topic"))


def summary(sorted_ns: list[int]) -> tuple[float, float, float]:
    """Mean, 99th percentile and worst, in ms."""
    mean = sum(sorted_ns) / len(sorted_ns)
    return mean / 1e6, sorted_ns[int(0.99 * len(sorted_ns))] / 1e6, sorted_ns[-1] / 1e6


def is_rising(means: list[float]) -> bool:
    """Whether the delay at each rate is above the one at the rate before."""
    return all(high > low for low, high in pairwise(means))


def draw(tables: Mapping[str, Table]) -> Figure:
    """Mean and tail over the rate."""
    table = tables["rates"]
    figure, (axes,) = drawing.canvas(wide=6.4, high=3.6)
    lines = (
        ("random", "mean_ms", 0, "-", "random intervals, mean"),
        ("random", "p99_ms", 0, ":", "random intervals, 99 %"),
        ("constant", "mean_ms", 1, "-", "constant intervals, mean"),
    )
    for intervals, column, colour, dash, text in lines:
        rates = table.column("rate_per_s", intervals=intervals)
        values = table.column(column, intervals=intervals)
        axes.plot(rates, values, dash, marker="o", markersize=3, color=drawing.COLOURS[colour], label=text)
    drawing.published_points(
        axes, list(PUBLISHED), list(PUBLISHED.values()), "published: Table I; “less than” at 4,000/s"
    )
    axes.axvline(10_000, label="published saturation", **drawing.PUBLISHED)
    axes.set_yscale("log")
    title = "Processor alone, 0.1 ms per message (published: end to end)"
    drawing.label(axes, title=title, x="messages per second", y="delay, ms")
    return figure
