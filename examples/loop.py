"""What is measured goes back to the bus: a link that becomes slow, and a publisher that becomes bursty.

The first part runs in virtual time. Links take three times as long from the second phase on. MTEP reckons
with how long links take, as it was told: at the start, or after each phase by the models that Spark made of
the records.

The second part is a live broker. A monitor sends four messages at once where it offered one in 10 ms, and is
policed. The model of its flow goes to the broker as a message. Every promise holds with the burst, so the
broker lets it through from then on, and whoever asks later is promised less.

Needs Java and `pip install "giusto[spark]"`.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import giusto
from giusto.broker import Broker
from giusto.config import BrokerConfig, Models, Records
from giusto.models import VERDICT, LinkModel, ModelVerdict, decode_verdict
from giusto.pipeline import models
from giusto.record import to_table
from giusto.sim import Link, Normal, Poisson, Publisher, Run, Scenario, Subscriber, chain, run
from giusto.steward import Steward

BEFORE = Normal(mean_per_kb="1ms", deviation_per_kb="200us")
AFTER = Normal(mean_per_kb="3ms", deviation_per_kb="600us")
OFFER = giusto.Offer(min_sep="10ms", max_size=64)
BURST = 4


# --- a link that becomes slow


def scenario(delay: Normal, known: dict[str, Normal], seconds: int) -> Scenario:
    """A chain of three brokers; policies know of links what is `known`, and else what was true at first."""
    net = chain(3, delay=delay, policy="mtep")
    links = tuple(replace(link, estimate=known.get(link.label, BEFORE)) for link in net.links)
    return Scenario(
        until=f"{seconds}s",
        brokers=net.brokers,
        links=links,
        publishers=[
            Publisher(
                name=topic, broker="b1", topic=topic, workload=Poisson(rate=rate), size_bytes=(512, 1536)
            )
            for topic, rate in (("urgent", 100), ("other", 300))
        ],
        subscribers=[
            Subscriber(name="gold", broker="b3", pattern="urgent", deadline="20ms", price=3),
            Subscriber(name="iron", broker="b3", pattern="other", deadline="80ms", price=1),
        ],
    )


def estimates(phase: Run) -> dict[str, Normal]:
    """What Spark makes of the links of a phase."""
    found = [model for model in measured(phase.records, "link_model") if isinstance(model, LinkModel)]
    return {
        Link(source=model.source, target=model.target).label: Normal(
            mean_per_kb=f"{model.mean_ns_per_kb:.0f}ns",
            deviation_per_kb=f"{(model.variance or 0) ** 0.5:.0f}ns",
        )
        for model in found
        if model.mean_ns_per_kb is not None and model.target.startswith("b")
    }


def phases(count: int = 3, seconds: int = 20) -> list[tuple[Normal, float, float]]:
    """For each phase the delay of links, and the part of the ideal earning without and with the loop."""
    known: dict[str, Normal] = {}
    found = []
    for phase in range(count):
        delay = BEFORE if phase == 0 else AFTER
        without = run(scenario(delay, {}, seconds), seed=phase)
        within = run(scenario(delay, known, seconds), seed=phase, records="hops")
        found.append((delay, part(without), part(within)))
        if phase < count - 1:
            known = estimates(within)
    return found


def part(done: Run) -> float:
    """The part of the ideal earning."""
    return done.total_earning / done.ideal_earning


# --- a publisher that becomes bursty


def bursts(publisher: giusto.Publisher, count: int) -> None:
    """Four messages at once, in a second as many as were offered."""
    for _ in range(count):
        for _ in range(BURST):
            publisher.publish(b"SpO2 low")
        time.sleep(0.05)


def policed(bus: giusto.Bus) -> int:
    """Messages that broke an offer so far."""
    return bus.status().totals.get("policed", 0)


def tightest_ns(bus: giusto.Bus) -> int:
    """The shortest latency that could be promised to one more."""
    try:
        bus.subscribe("ward/3/alarm", giusto.Need(max_latency="1ns"))
    except giusto.Refused as refused:
        if refused.nearest is not None and refused.nearest.max_latency_ns is not None:
            return refused.nearest.max_latency_ns
    raise SystemExit("a nanosecond cannot be promised, something longer can")


def live() -> tuple[list[tuple[int, int]], ModelVerdict]:
    """Policed messages and the tightest promise, before and after the model went to the broker."""
    config = BrokerConfig(
        listen=("tcp://127.0.0.1:0",),
        records=Records(capacity=10_000),
        models=Models(listen=True, envelope="apply"),
    )
    with (
        Broker(config) as broker,
        Steward(broker),
        giusto.connect(broker.address, name="monitor") as monitor,
        giusto.connect(broker.address, name="nurse") as nurse,
    ):
        alarm = monitor.advertise("ward/3/alarm", OFFER)
        nurse.subscribe("ward/3/alarm", giusto.Need(max_latency="200ms"))
        verdicts = nurse.subscribe(VERDICT)
        bursts(alarm, 10)
        before = (policed(nurse), tightest_ns(nurse))
        batch = broker.drain_records()
        tables = tables_of(to_table([batch] if batch else []), "arrival_envelope")
        models.publish(broker.address, tables)
        verdict = decode_verdict(verdicts.receive(timeout="30s").payload)
        bursts(alarm, 10)
        after = (policed(nurse) - before[0], tightest_ns(nurse))
    return [before, after], verdict


# --- both


def tables_of(records: pa.Table, name: str) -> dict[str, pa.Table]:
    """A gold table of some records."""
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(records, Path(folder) / "records.parquet")
        return models.measured(folder, [name])


def measured(records: pa.Table, name: str) -> list[models.Model]:
    """The models that a gold table of some records holds."""
    return list(models.models(tables_of(records, name)))


def main() -> None:
    """Both parts, as tables."""
    console = Console()
    links = Table("phase", "links take", "earned, told at the start", "earned, told by the loop")
    for number, (delay, without, within) in enumerate(phases(), 1):
        links.add_row(str(number), f"{delay.mean_per_kb}/KB", f"{without:.1%}", f"{within:.1%}")
    console.print(links)
    flows = Table("monitor sends four at once", "policed", "could be promised to one more")
    found, verdict = live()
    for when, (lost, latency_ns) in zip(("as offered", "as measured"), found, strict=True):
        flows.add_row(when, str(lost), f"{latency_ns / 1e6:.2f} ms")
    console.print(flows)
    console.print(str(verdict))


if __name__ == "__main__":
    main()
