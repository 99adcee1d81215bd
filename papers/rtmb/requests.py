"""Section 2: three subscribers to one topic, of whom one can be served; limiters with and without jitter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from giusto import sim
from giusto.contract import Need, Offer
from giusto.contract.matching import Flow, require_match
from giusto.errors import Refused
from giusto.guarantee import ports
from giusto.papers import Findings, Table, Trial, drawing

from .switches import MS, SLOW, Sender, send

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Latencies and other traffic are not in the text: 1 ms on the wire beside a more urgent 2 ms every 20 ms.
OFFER = Offer(min_sep="10ms", max_sep="15ms")
NEEDS = {
    "A": Need(max_latency="8ms", max_sep="20ms"),
    "B": Need(max_latency="8ms", max_sep="14ms"),
    "C": Need(max_latency="3ms", max_sep="20ms"),
}
WIRE_BYTES, OTHER_BYTES, OTHER_SEP_MS = 1000, 2000, 20
FIRST_MS = 1


def is_admitted(need: Need) -> bool:
    """Whether messages come often enough, and then whether the latency can be kept."""
    try:
        require_match(need, Flow("publisher", "topic", OFFER))
    except Refused:
        return False
    speed = SLOW // 8
    other = ports.Flow(OTHER_BYTES * 1000, OTHER_SEP_MS * MS, budget_ns=MS * 3 // 2)
    port = ports.Port(speed, levels=2, blocking_bytes=0, flows={"other": other})
    request = ports.Request(
        "topic", WIRE_BYTES, OFFER.min_sep_ns or 0, need.max_latency_ns or 0, [ports.Hop("s1")], speed
    )
    return isinstance(ports.path_admission(request, {"s1": port}), ports.Admitted)


def latencies_ms(count: int) -> list[float]:
    """End to end latencies of the topic, sent every 10 to 15 ms, beside the more urgent flow."""
    topic = [FIRST_MS * MS + n * 13 * MS for n in range(count)]
    other = [n * OTHER_SEP_MS * MS + MS for n in range(count)]
    senders = [
        Sender(name="other", times_ns=other, size_bytes=OTHER_BYTES, level=1),
        Sender(name="topic", times_ns=topic, size_bytes=WIRE_BYTES),
    ]
    return [frame.delay_ms + FIRST_MS for frame in send(senders).frames["topic"]]


def policed(offer: Offer, count: int, seed: int) -> int:
    """Messages of a periodic publisher, each up to 1 ms late, that a limiter takes away."""
    workload = sim.Periodic(period="10ms", phase=0, jitter="1ms")
    scenario = sim.Scenario(
        until=f"{10 * count}ms",
        brokers=[sim.Broker(name="s1")],
        publishers=[sim.Publisher(name="p", broker="s1", topic="t", workload=workload, offer=offer)],
        subscribers=[sim.Subscriber(name="s", broker="s1", pattern="t")],
    )
    return sim.run(scenario, seed, records="none").counters["policed"]


def measure(trial: Trial) -> Findings:
    """Who is admitted, what is then seen, and what limiters do to a publisher that keeps its offer."""
    admitted = {name: is_admitted(need) for name, need in NEEDS.items()}
    seen = latencies_ms(trial.pick(100, 5_000))
    count = trial.pick(200, 20_000)
    strict, jittery = Offer(min_sep="10ms"), Offer(min_sep="10ms", jitter="1ms")
    return Findings(
        {
            "three-subscribers": ", ".join(
                f"{name} {'yes' if ok else 'no'}" for name, ok in admitted.items()
            ),
            "three-latency": max(seen),
            "three-latency-c": max(seen) * MS > (NEEDS["C"].max_latency_ns or 0),
            "limiter": policed(strict, count, 1),
            "limiter-true": policed(jittery, count, 1),
        },
        {"requests": Table(("message", "latency_ms"), list(enumerate(seen[:100])))},
    )


def draw(tables: Mapping[str, Table]) -> Figure:
    """Latencies of the topic, and what A and C asked for."""
    figure, (axes,) = drawing.canvas(wide=6)
    table = tables["requests"]
    axes.plot(
        table.column("message"), table.column("latency_ms"), ".", color=drawing.COLOURS[0], label="simulated"
    )
    axes.axhline(8, color=drawing.COLOURS[1], linestyle="--", label="A, admitted")
    axes.axhline(3, color=drawing.COLOURS[3], linestyle=":", label="C, refused")
    axes.set_ylim(0, 11)
    drawing.label(axes, title="Latency of the topic", x="message", y="latency, ms")
    return figure
