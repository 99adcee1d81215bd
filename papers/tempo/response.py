"""Section IV-E, load-driven: intensity, mean and percentile of the response time of a topic, and its share.

Exponential service times are made as the paper makes them: of exponential sizes, one quantum per byte.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from math import exp, log
from random import Random
from typing import TYPE_CHECKING

from giusto import sim
from giusto.papers import Findings, Table, Trial, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The example of the paper: messages per second.
SERVICE_RATE, ARRIVAL_RATE = 10_000, 250
SERVICE_NS, BYTES = 100_000, 100
CHUNK = 50_000
AT_MS = [n * 0.025 for n in range(45)]


def measure(trial: Trial) -> Findings:
    """Many messages of one topic with exponential and with constant service, and three busy topics."""
    chunks = range(trial.pick(small=2, full=80))
    few = chunks[: trial.pick(small=1, full=20)]
    random_ns: list[int] = []
    busy = 0.0
    for seed in trial.each(chunks):
        delays_ns, load = chunk(seed, exponential=True)
        random_ns += delays_ns
        busy += load / len(chunks)
    constant_ns = [delay_ns for seed in few for delay_ns in chunk(seed, exponential=False)[0]]
    random_ns.sort()
    constant_ns.sort()
    mean_ms = sum(random_ns) / len(random_ns) / 1e6
    p999_ms = random_ns[int(0.999 * len(random_ns))] / 1e6
    within = 100 * bisect_right(random_ns, 700_000) / len(random_ns)
    return Findings(
        {
            "share": shares(trial.pick(small=6_000, full=60_000)),
            "intensity": busy,
            "intensity-true": busy,
            "mean-response": mean_ms,
            "mean-response-true": mean_ms,
            "mean-constant": sum(constant_ns) / len(constant_ns) / 1e6,
            "percentile": p999_ms,
            "percentile-true": p999_ms,
            "percentile-covered": within,
        },
        {
            "response": Table(
                ("delay_ms", "exponential", "constant", "formula"),
                [(at, above(random_ns, at), above(constant_ns, at), formula(at)) for at in AT_MS],
            )
        },
    )


def chunk(seed: int, *, exponential: bool) -> tuple[list[int], float]:
    """Delays of some messages of Poisson arrivals, and the part of the time in which the processor works."""
    rng = Random(seed)
    times_ns = [round(at * 1e9) for at in accumulate(rng.expovariate(ARRIVAL_RATE) for _ in range(CHUNK))]
    # One quantum for each byte, or one quantum for all of them.
    sizes = [max(1, round(rng.expovariate(1 / BYTES))) if exponential else 1 for _ in range(CHUNK)]
    topic = sim.Topic(name="topic", service_ns=SERVICE_NS // (BYTES if exponential else 1))
    by_size: dict[int, list[int]] = {}
    for at_ns, size in zip(times_ns, sizes, strict=True):
        by_size.setdefault(size, []).append(at_ns)
    streams = [
        sim.Stream(topic="topic", client="publisher", times_ns=times, size_bytes=size)
        for size, times in by_size.items()
    ]
    run = sim.serve("fair", [topic], streams, fragment_bytes=1)
    span_ns = run.completions[-1].completed_ns - times_ns[0]
    return run.delays_ns("topic"), sum(sizes) * topic.service_ns / span_ns


def shares(count: int) -> float:
    """Messages per second of a topic with a tenth of all rates, while all topics are busy."""
    rates = {"a": 1, "b": 3, "c": 6}
    topics = [sim.Topic(name=name, service_ns=SERVICE_NS, rate=rate) for name, rate in rates.items()]
    streams = [sim.Stream(topic=name, client=name, times_ns=[0] * count) for name in rates]
    served = sim.serve("fair", topics, streams).order()[:count]
    return served.count("a") / (count * SERVICE_NS) * 1e9


def above(sorted_ns: list[int], at_ms: float) -> float:
    """The part of all messages that take longer."""
    return 1 - bisect_right(sorted_ns, at_ms * 1e6) / len(sorted_ns)


def formula(at_ms: float) -> float:
    """The same for exponential service, with the intensity put right: mean 1/(μ-λ)."""
    return exp(-at_ms * (SERVICE_RATE - ARRIVAL_RATE) / 1000)


def draw(tables: Mapping[str, Table]) -> Figure:
    """How many messages take longer than a given time."""
    table = tables["response"]
    figure, (axes,) = drawing.canvas(wide=6.4, high=3.6)
    at = table.column("delay_ms")
    axes.plot(at, table.column("formula"), color=drawing.COLOURS[4], label="corrected formula, mean 1/(μ-λ)")
    for name, colour, marker in (("exponential", 0, "o"), ("constant", 1, "^")):
        points = [(x, y) for x, y in zip(at, table.column(name), strict=True) if y > 0]
        xs, ys = zip(*points, strict=True)
        axes.plot(
            xs, ys, marker, color=drawing.COLOURS[colour], markersize=4, label=f"simulated, {name} service"
        )
    drawing.published_points(axes, [0.7], [0.001], "published: 99.9 % within 0.7 ms")
    axes.axvline(
        log(1000) * 1000 / (SERVICE_RATE - ARRIVAL_RATE), color="black", linewidth=0.8, linestyle=":"
    )
    axes.annotate("0.7085 ms", (0.72, 0.02), fontsize=8)
    axes.set_yscale("log")
    axes.set_ylim(1e-5, 1.5)
    title = "Response time at 10,000 services and 250 messages per second"
    drawing.label(axes, title=title, x="time in the system, ms", y="part of messages above")
    return figure
