"""A run: a scenario and a seed always give the same records, and the figures of every part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from giusto import Offer, _core, record
from giusto.errors import InvalidInput
from giusto.sim import (
    Attribute,
    Bandwidth,
    Broker,
    BrokerDown,
    Constant,
    Ethernet,
    Greedy,
    Link,
    LinkDown,
    Loss,
    Normal,
    Periodic,
    Poisson,
    Processor,
    Publisher,
    Scenario,
    Spike,
    Subscriber,
    Topic,
    Trace,
    Uniform,
    chain,
    layered,
    run,
)
from giusto.sim.policy import Output
from giusto.sim.tracing import facts_of
from giusto.trace.facts import Allotment, allotted
from giusto.trace.manifest import lines

# Only a change to the model may change these, and it says so in CHANGELOG.md.
EVENTS = 2822
DIGEST = "69b310fc7367f9039300496e7e9efe9d3e19630fb03db4908a9314bd21605ee0"


def everything() -> Scenario:
    """A small network that has a bit of all that there is."""
    made = layered(
        (2, 3, 4),
        parents=2,
        delay=lambda chance: Normal(mean_per_kb=chance.uniform(0.001, 0.003), deviation_per_kb="1ms"),
        processing="100us",
        policy="mtep",
        seed=4,
    )
    attribute = Attribute(name="x", low=0, high=10)
    workloads = [
        Periodic(period="10ms", jitter="2ms"),
        Poisson(rate="80/s"),
        Uniform(high="20ms"),
        Greedy(rate="5/100ms", burst=10),
        Trace(at_ns=[0, 1_000_000, 500_000_000]),
    ]
    publishers = [
        Publisher(
            name=f"p{n}",
            broker=made.layer(1)[n % 2],
            topic=f"t/{n % 3}",
            workload=workload,
            size_bytes=(512, 4096),
            priority=(0, 7),
            attributes=[attribute],
            delay="1ms",
        )
        for n, workload in enumerate(workloads)
    ]
    publishers[1] = replace(publishers[1], offer=Offer(rate="80/s", burst=3), windows=[("100ms", "900ms")])
    subscribers = [
        Subscriber(
            name=f"s{n}",
            broker=broker,
            pattern="t/+",
            filter=f"x < {3 * n + 2}",
            deadline=f"{20 * n + 20}ms",
            price=n,
            penalty=0.5,
        )
        for n, broker in enumerate(made.layer(-1))
    ]
    faults = [
        LinkDown(link=made.links[0].label, start="200ms", end="300ms"),
        Spike(link=made.links[1].label, factor=3, start="400ms", end="600ms"),
        Loss(link=made.links[2].label, probability=0.5, start="100ms"),
        BrokerDown(broker=made.layer(2)[0], start="700ms", end="750ms"),
    ]
    served = replace(made.brokers[0], processor=Processor(policy="fair", search="1us"))
    wired = [replace(link, medium="wire") for link in made.links[6:10]]
    return Scenario(
        until="1s",
        brokers=(served, *made.brokers[1:]),
        links=(*made.links[:6], *wired, *made.links[10:]),
        publishers=publishers,
        subscribers=subscribers,
        topics=[Topic(name=f"t/{n}", service_ns=20_000, rate=n + 1) for n in range(3)],
        media=[Ethernet(name="wire")],
        faults=faults,
        name="everything",
    )


def digest(table: pa.Table) -> str:
    """Of all values: names instead of the numbers that stand for them, in the order of the rows."""
    return hashlib.sha256(json.dumps(table.to_pydict()).encode()).hexdigest()


def pair(policy: object = "fifo", at_ns: Sequence[int] = (0, 0, 0), **options: object) -> Scenario:
    """Two brokers and a link of 100 ns; messages of priorities that are drawn."""
    made = chain(2, delay=Constant(delay="100ns"), policy=policy, **options)
    publisher = Publisher(name="p", broker="b1", topic="news", workload=Trace(at_ns=at_ns), size_bytes=64)
    subscriber = Subscriber(name="s", broker="b2", pattern="#", deadline="250ns", price=2, penalty=0.5)
    return Scenario(
        until="1s", brokers=made.brokers, links=made.links, publishers=[publisher], subscribers=[subscriber]
    )


def of_any_seed(records: pa.Table) -> pa.Table:
    """Records that say of their run only the name of the scenario."""
    names = [run.partition(".")[0] for run in records["run"].to_pylist()]
    runs = pa.array(names).dictionary_encode()
    return records.set_column(records.column_names.index("run"), records.schema.field("run"), runs)


def test_a_scenario_and_a_seed_give_the_same_records_on_every_machine() -> None:
    made = run(everything(), seed=11, records="hops")
    assert made.counters["events"] == EVENTS
    # What came with version 2 of the records says nothing of the model.
    assert digest(of_any_seed(made.records).drop_columns(["subscription"])) == DIGEST


def test_another_seed_gives_other_records_and_the_same_one_the_same() -> None:
    first, again, other = (run(everything(), seed=seed).records for seed in (1, 1, 2))
    assert first.equals(again)
    assert digest(of_any_seed(first)) != digest(of_any_seed(other))


def test_the_figures_are_those_of_the_parts_by_name() -> None:
    made = run(pair())
    # 100, 200 and 300 ns: the last is late.
    (subscriber,), (link,) = made.subscribers, made.links
    assert (subscriber.name, subscriber.ideal, subscriber.delivered, subscriber.late) == ("s", 3, 2, 1)
    assert (subscriber.delay_max_ns, subscriber.delay_mean_ns) == (300, 200)
    assert (link.name, link.sent, link.busy_ns, link.waiting_max) == ("b1->b2", 3, 300, 3)
    assert [(broker.name, broker.forwarded) for broker in made.brokers] == [("b1", 3), ("b2", 3)]
    assert (made.success_rate, made.total_earning, made.ideal_earning) == (2 / 3, 3.5, 6.0)
    assert made.ended_ns == 300


def test_every_message_for_every_subscription_ends_in_one_outcome() -> None:
    made = run(everything(), seed=3)
    counts = made.counters
    ends = ("delivered", "late", "expired", "overflow", "lost", "unfinished")
    assert counts["ideal"] == sum(counts[name] for name in ends)
    assert made.records.num_rows == counts["ideal"] + counts["policed"]
    assert counts["policed"] > 0
    assert counts["lost"] > 0
    assert sum(each.ideal for each in made.subscribers) == counts["ideal"]
    assert [medium.name for medium in made.media] == ["wire"]


def test_records_have_the_one_schema() -> None:
    records = run(pair()).records
    assert records.schema.equals(record.schema())
    assert records["run"].to_pylist() == ["sim.0"] * 3
    assert run(pair(), records="none").records.num_rows == 0


def test_until_can_be_said_for_one_run() -> None:
    scenario = pair(at_ns=[0, 400, 900])
    assert run(scenario, until="500ns").counters["published"] == 2
    cut = run(scenario, until="450ns", drain=False).counters
    assert (cut["published"], cut["unfinished"]) == (2, 1)


def test_a_run_is_saved_as_scenario_counters_and_records(tmp_path: Path) -> None:
    made = run(pair(), seed=8)
    made.save(tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert Scenario.read(folder / "scenario.toml") == made.scenario
    said = json.loads((folder / "run.json").read_text())
    assert (said["seed"], said["delivered"], said["success_rate"]) == (8, 2, 2 / 3)
    assert record.read(folder)["outcome"].to_pylist() == ["delivered", "delivered", "late"]


def test_runs_of_other_seeds_stay_in_the_folder_and_the_same_seed_is_replaced(tmp_path: Path) -> None:
    for seed in (1, 2, 1):
        run(pair(), seed=seed).write_trace(tmp_path)
    assert [file.name for file in record.files(tmp_path)] == [
        "seed_1-sim.1-00000001.parquet",
        "seed_2-sim.2-00000001.parquet",
    ]
    manifest = [*lines(tmp_path / "manifest" / "seed_1-sim.1.jsonl")]
    assert [line["event"] for line in manifest] == ["file", "ended"]
    assert manifest[0]["rows"] == 3


@pytest.mark.parametrize("names", [("baseline-mtep", "baseline-fifo"), ("v1.2", "v1"), ("a-b", "a_b")])
def test_a_run_leaves_those_of_other_scenarios_alone(tmp_path: Path, names: tuple[str, str]) -> None:
    for name in names:
        run(replace(pair(), name=name), seed=1).write_trace(tmp_path)
    assert {*record.read(tmp_path)["run"].to_pylist()} == {f"{name}.1" for name in names}
    assert len(list((tmp_path / "facts").iterdir())) == 2 * len(names), "of two brokers each"


def test_records_that_a_run_had_no_room_for_are_in_the_manifest(tmp_path: Path) -> None:
    run(pair(), record_capacity=1).write_trace(tmp_path)
    (dropped,) = [line for line in lines(tmp_path / "manifest" / "seed_0-sim.0.jsonl") if "reason" in line]
    assert (dropped["rows"], dropped["reason"]) == (2, "ring")


def test_facts_of_a_run_say_what_publishers_offer(tmp_path: Path) -> None:
    send, offer = (
        {"broker": "b", "topic": "t", "workload": Trace(at_ns=[1])},
        Offer(rate="3/s", burst=4, jitter="5ns"),
    )
    scenario = Scenario(
        until="1s",
        brokers=[Broker(name="b")],
        publishers=[Publisher(name="p", **send, offer=offer), Publisher(name="q", **send)],
    )
    run(scenario).write_trace(tmp_path)
    facts = json.loads((tmp_path / "facts" / "b-sim.0-00000001.json").read_text())
    (topic,) = facts["topics"]
    keys = ("min_sep_ns", "burst", "jitter_ns")
    told = {one["client"]: tuple(one.get(key) for key in keys) for one in topic["clients"]}
    assert told == {"p": (333_333_333, 4, 5), "q": (None, None, None)}
    assert facts["tolerance_ns"] == 0, "a simulated broker has none"


def test_facts_of_a_run_are_those_of_its_processors(tmp_path: Path) -> None:
    scenario = Scenario(
        until="1s",
        brokers=[Broker(name="b", processor=Processor(policy="twrr")), Broker(name="plain")],
        topics=[Topic(name="t", weight=3, service_ns=10), Topic(name="u", weight=2, service_ns=10)],
        publishers=[
            Publisher(name="p", broker="b", topic="t", workload=Trace(at_ns=[1])),
            Publisher(name="q", broker="b", topic="u", workload=Trace(at_ns=[1])),
            Publisher(name="r", broker="b", topic="u", workload=Trace(at_ns=[1])),
        ],
        subscribers=[Subscriber(name="s", broker="b", pattern="#")],
    )
    run(scenario).write_trace(tmp_path)
    facts = json.loads((tmp_path / "facts" / "b-sim.0-00000001.json").read_text())
    told = {
        fact["topic"]: (
            fact["share"],
            fact["quanta_share"],
            {one["client"]: one["share"] for one in fact["clients"]},
        )
        for fact in facts["topics"]
    }
    # A cell of u has two quanta.
    assert told == {"t": (0.6, 3 / 7, {"p": 3 / 7}), "u": (0.4, 4 / 7, {"q": 2 / 7, "r": 2 / 7})}
    flows = {one["client"]: one["flow_share"] for fact in facts["topics"] for one in fact["clients"]}
    assert (flows, facts["fragment_bytes"]) == ({"p": 3 / 7, "q": 2 / 7, "r": 2 / 7}, 65_536)
    nothing = json.loads((tmp_path / "facts" / "plain-sim.0-00000001.json").read_text())
    assert (nothing["input"], nothing["topics"]) == (None, [])
    assert facts["output"] is nothing["output"] is None, "there is no link"


def test_facts_name_the_output_policies_of_the_links_around_a_broker() -> None:
    def outputs(*policies: Output) -> list[str | None]:
        """Of the brokers of a chain, and of one that is alone."""
        names = [f"b{n}" for n in range(len(policies) + 1)]
        ends = zip(names, names[1:], policies, strict=False)
        scenario = Scenario(
            until="1s",
            brokers=[Broker(name=name) for name in (*names, "alone")],
            links=[Link(source=one, target=other, policy=policy) for one, other, policy in ends],
        )
        return [facts_of(scenario, broker, "r")["output"] for broker in scenario.brokers]

    assert outputs() == [None, None]
    assert outputs("mtep", "mtep") == ["mtep"] * 4, "also where no link leads on, or none at all"
    assert outputs("mtep", "fifo") == ["mtep", "fifo+mtep", "fifo", "fifo+mtep"]
    assert outputs(Last) == ["Last"] * 3


def test_facts_say_no_shares_where_links_bring_more_clients() -> None:
    scenario = Scenario(
        until="1s",
        brokers=[Broker(name="b1", processor=Processor()), Broker(name="b2", processor=Processor())],
        links=[Link(source="b1", target="b2")],
        topics=[Topic(name="t", weight=3, service_ns=10)],
        publishers=[
            Publisher(name=f"p{n}", broker=f"b{n}", topic="t", workload=Trace(at_ns=[1])) for n in (1, 2)
        ],
    )
    alone, fed = (facts_of(scenario, broker, "r")["topics"][0] for broker in scenario.brokers)
    assert (alone["share"], alone["quanta_share"], alone["clients"][0]["share"]) == (1.0, 1.0, 1.0)
    assert (fed["weight"], fed["share"], fed["quanta_share"]) == (3, None, None)
    assert fed["clients"] == [{"client": "p2", "share": None, "flow_share": None}]


def test_facts_of_fair_shares_are_of_topics_whoever_publishes() -> None:
    names = {"t": ("p",), "u": ("q", "r")}
    found = allotted("fair", [Allotment(topic, 2, clients) for topic, clients in names.items()])
    assert [(fact["share"], fact["quanta_share"]) for fact in found] == [(0.5, 0.5)] * 2
    assert allotted("edf", [Allotment("t", None, ("p",))])[0]["quanta_share"] is None


def test_a_run_that_has_no_toml_is_saved_without(tmp_path: Path) -> None:
    run(pair()).save(tmp_path)
    run(pair(Last), seed=9).save(tmp_path)
    assert not (tmp_path / "scenario.toml").exists()
    assert json.loads((tmp_path / "run.json").read_text())["seed"] == 9
    assert record.read(tmp_path).num_rows == 6


def test_a_run_in_which_nothing_happens_ends_at_once() -> None:
    assert run(Scenario(until="1s", brokers=[Broker(name="b")])).ended_ns == 0


def test_a_run_prints_what_happened() -> None:
    text = str(run(pair(), seed=8))
    assert text.startswith("sim, seed 8: 1 s simulated in ")
    assert "deliveries 3: delivered 2, late 1" in text
    assert "earning 3.5 of 6.0" in text
    nobody = str(run(Scenario(until="1s", brokers=[Broker(name="b")])))
    assert nobody.endswith("deliveries 0: nothing was to be delivered")


class Last:
    """An output policy: what came last goes first."""

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def push(self, number: int, message: _core.Outgoing, terms: Sequence[_core.Terms]) -> None:
        self.waiting.append(number)

    def choose(self, now_ns: int) -> int:
        return self.waiting[-1]

    def remove(self, number: int) -> None:
        self.waiting.remove(number)


class Greatest:
    """An input policy: the topic with the greatest number goes first."""

    lanes = "topic"

    def __init__(self) -> None:
        self.waiting: set[int] = set()

    def allot(self, topic: int, share: _core.Share) -> None:
        assert share.weight == 1

    def join(self, topic: int, flow: int) -> None:
        assert topic in (0, 1)

    def arrived(self, lane: int, topic: int, oldest_ns: int) -> None:
        self.waiting.add(lane)

    def choose(self, now_ns: int) -> int:
        return max(self.waiting)

    def served(self, lane: int, oldest_ns: int | None) -> None:
        if oldest_ns is None:
            self.waiting.remove(lane)


def test_a_link_takes_a_policy_written_in_python() -> None:
    records = run(pair(policy=Last, at_ns=[0, 10, 20])).records
    assert records["sequence"].to_pylist() == [0, 2, 1]


def test_a_processor_takes_a_policy_written_in_python() -> None:
    broker = Broker(name="b", processor=Processor(policy=Greatest))
    topics = [Topic(name=name, service_ns=10) for name in ("first", "second")]
    publishers = [
        Publisher(name=topic.name, broker="b", topic=topic.name, workload=Trace(at_ns=[0, 0]))
        for topic in topics
    ]
    subscriber = Subscriber(name="s", broker="b", pattern="#")
    scenario = Scenario(
        until="1s", brokers=[broker], topics=topics, publishers=publishers, subscribers=[subscriber]
    )
    records = run(scenario).records
    assert records["topic"].to_pylist() == ["second", "second", "first", "first"]


def test_an_error_of_a_python_policy_stops_the_run_with_that_error() -> None:
    class Broken(Last):
        def choose(self, now_ns: int) -> int:
            raise ZeroDivisionError("no choice")

    with pytest.raises(ZeroDivisionError, match="no choice"):
        run(pair(policy=Broken))


def test_a_python_policy_cannot_be_written_to_a_file() -> None:
    with pytest.raises(InvalidInput) as caught:
        pair(policy=Last).to_toml()
    assert caught.value.field == "links[0].policy"
    served = replace(pair(), brokers=[Broker(name="b", processor=Processor(policy=Greatest))])
    with pytest.raises(InvalidInput) as caught:
        served.to_toml()
    assert caught.value.field == "brokers[0].processor.policy"


def test_a_wire_with_bandwidth_takes_as_long_as_the_bits() -> None:
    link = Link(source="b1", target="b2", delay=Bandwidth(bits_per_s="10Mbit/s", least_bytes=64))
    scenario = replace(pair(at_ns=[0]), links=[link])
    assert run(scenario).records["t_received_ns"].to_pylist() == [51_200]
