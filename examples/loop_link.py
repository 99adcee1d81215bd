"""A link becomes slow in the middle of a run, and the schedule follows what Spark measured of it.

A chain of three brokers in virtual time. From 10 s on its links take three times as long, which is more than
they can carry. MTEP chooses what is still worth sending by how long it was told that links take. At 20 s
Spark makes `link_model` of the records so far, and MTEP is told that.

A simulated link has one estimate for a whole run. So the run is played again with what was learned, from the
same seed: the same messages at the same instants, on the same links. Of it counts what was sent after 20 s.

Needs Java and `pip install "giusto[spark]"`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from giusto.models import LinkModel
from giusto.pipeline import models
from giusto.sim import Normal, Poisson, Publisher, Run, Scenario, Spike, Subscriber, chain, run

AT_FIRST = Normal(mean_per_kb="1ms", deviation_per_kb="200us")
FACTOR = 3
CHANGED_S, LEARNED_S, END_S = 10, 20, 30
SEED = 1


@dataclass(frozen=True)
class Part:
    """Ten seconds of the run: what a KB takes on a link, and which part of the ideal was earned.

    `told` is with the model of the links from when there is one, `untold` without.
    """

    from_s: int
    to_s: int
    ms_per_kb: int
    untold: float
    told: float


def scenario() -> Scenario:
    """A chain whose links become slow, for good; all that policies know of them is how they are at first."""
    net = chain(3, delay=AT_FIRST, policy="mtep")
    return Scenario(
        until=f"{END_S}s",
        brokers=net.brokers,
        links=[replace(link, estimate=AT_FIRST) for link in net.links],
        faults=[Spike(link=link.label, factor=FACTOR, start=f"{CHANGED_S}s") for link in net.links],
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


def measured(done: Run) -> pa.Table:
    """What Spark makes of the links between brokers, of all of the run and of its last ten seconds."""
    with tempfile.TemporaryDirectory() as folder:
        done.write_trace(folder)
        links = models.measured(folder, ["link_model"])["link_model"]
    brokers = pa.array([broker.name for broker in done.scenario.brokers])
    return links.filter(pc.is_in(links["target"], brokers)).sort_by("source")


def told(start: Scenario, links: pa.Table) -> Scenario:
    """The scenario with links of which policies know what was measured."""
    known = {f"{one.source}->{one.target}": estimate(one) for one in models.links(links.to_pylist())}
    return replace(start, links=[replace(link, estimate=known[link.label]) for link in start.links])


def estimate(model: LinkModel) -> Normal | None:
    """A model in the words of a scenario."""
    if model.mean_ns_per_kb is None or model.variance is None:
        return None
    deviation_ns = model.variance**0.5
    return Normal(mean_per_kb=f"{model.mean_ns_per_kb:.0f}ns", deviation_per_kb=f"{deviation_ns:.0f}ns")


def earned(done: Run, from_s: int, to_s: int) -> float:
    """Which part of the ideal was earned with what was sent in between."""
    sent = done.records["t_sent_ns"]
    within = pc.and_(pc.greater_equal(sent, from_s * 10**9), pc.less(sent, to_s * 10**9))
    rows = done.records.filter(within)
    paid = rows.filter(pc.equal(rows["outcome"], "delivered"))
    return float(pc.sum(paid["price"]).as_py() / pc.sum(rows["price"]).as_py())


def follow() -> tuple[list[Part], pa.Table]:
    """The three parts of the run, and what was measured when two of them were over."""
    start = scenario()
    links = measured(run(start, SEED, until=f"{LEARNED_S}s", records="hops"))
    untold, again = run(start, SEED), run(told(start, links), SEED)
    parts = [
        Part(from_s, to_s, ms_per_kb, earned(untold, from_s, to_s), earned(follower, from_s, to_s))
        for from_s, to_s, ms_per_kb, follower in (
            (0, CHANGED_S, 1, untold),
            (CHANGED_S, LEARNED_S, FACTOR, untold),
            (LEARNED_S, END_S, FACTOR, again),
        )
    ]
    return parts, links


def show(parts: list[Part], links: pa.Table, console: Console) -> None:
    """What was measured, and what came of it."""
    seen = Table("link", f"a KB took, 0-{LEARNED_S} s", f"a KB took, {CHANGED_S}-{LEARNED_S} s: told to MTEP")
    for row in links.to_pylist():
        means_ns = (row["mean_ns_per_kb"], row["recent_mean_ns_per_kb"])
        seen.add_row(
            f"{row['source']} -> {row['target']}", *(f"{mean_ns / 1e6:.2f} ms" for mean_ns in means_ns)
        )
    console.print(seen)
    made = Table("sent", "links take", "earned, told nothing", f"earned, told at {LEARNED_S} s")
    for one in parts:
        when, took = f"{one.from_s}-{one.to_s} s", f"{one.ms_per_kb} ms/KB"
        made.add_row(when, took, f"{one.untold:.1%}", f"{one.told:.1%}")
    console.print(made)


if __name__ == "__main__":
    show(*follow(), Console())
