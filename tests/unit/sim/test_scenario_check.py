"""A scenario that cannot run is refused before anything runs: what is wrong, where, and what would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from giusto import Offer
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
    run,
)

BROKERS = (Broker(name="north"), Broker(name="south"), Broker(name="island"))
LINK = Link(source="north", target="south")
PUBLISHER = Publisher(name="p", broker="north", topic="news", workload=Periodic(period="1s"))
SUBSCRIBER = Subscriber(name="s", broker="south", pattern="news")
GOOD = Scenario(until="5s", brokers=BROKERS, links=[LINK], publishers=[PUBLISHER], subscribers=[SUBSCRIBER])
LAYERS = (Broker(name="a", layer=1), Broker(name="b", layer=2), Broker(name="c", layer=3))


def with_link(**options: Any) -> Scenario:
    return replace(GOOD, links=[replace(LINK, **options)])


def with_publisher(**options: Any) -> Scenario:
    return replace(GOOD, publishers=[replace(PUBLISHER, **options)])


def with_subscriber(**options: Any) -> Scenario:
    return replace(GOOD, subscribers=[replace(SUBSCRIBER, **options)])


def with_processor(topic: Topic | None = None, **options: Any) -> Scenario:
    brokers = (replace(BROKERS[0], processor=Processor(**options)), *BROKERS[1:])
    return replace(GOOD, brokers=brokers, topics=[topic or Topic(name="news", service_ns=5)])


def layered(*ends: str) -> Scenario:
    links = [Link(source=pair[0], target=pair[1]) for pair in ends]
    return Scenario(until="1s", brokers=LAYERS, links=links)


WRONG: list[tuple[Scenario, str, str]] = [
    (replace(GOOD, name=""), "name", "a name"),
    (replace(GOOD, brokers=[]), "brokers", "at least one"),
    (replace(GOOD, links=[SUBSCRIBER]), "links[0]", "a Link"),
    (replace(GOOD, faults=[LINK]), "faults[0]", "a LinkDown or a BrokerDown"),
    (replace(GOOD, brokers=[*BROKERS, Broker(name="north")]), "brokers[3].name", "brokers[0] is called so"),
    (replace(GOOD, links=[LINK, LINK]), "links[1].name", "no other"),
    (replace(GOOD, subscribers=[SUBSCRIBER, SUBSCRIBER]), "subscribers[1].name", "no other"),
    (replace(GOOD, brokers=[*BROKERS, Broker(name=3)]), "brokers[3].name", "a name"),  # type: ignore[arg-type]
    (with_link(overflow="disconnect"), "links[0].overflow", "drop_oldest or drop_new: no subscriber"),
    (with_publisher(size_bytes=True), "publishers[0].size_bytes", "a whole number from 0 to 4294967295"),
    (with_publisher(size_bytes=(1, True)), "publishers[0].size_bytes", "or the least and the greatest"),
    (with_publisher(priority=(0, 8)), "publishers[0].priority", "a whole number from 0 to 7"),
    (with_link(target="suoth"), "links[0].target", "did you mean 'south'?"),
    (with_link(source="elsewhere"), "links[0].source", "a broker of the scenario, and none is called so"),
    (with_link(target="north"), "links[0].target", "another broker"),
    (with_link(delay="10ms"), "links[0].delay", "a Normal or a Constant or a Bandwidth"),
    (with_link(medium="wire"), "links[0].medium", "a medium of the scenario"),
    (with_link(policy="fiffo"), "links[0].policy", "did you mean 'fifo'?"),
    (with_link(policy=3), "links[0].policy", "or what makes a policy"),
    (with_link(expiry="soon"), "links[0].expiry", "one of none, dead, eps"),
    (with_link(overflow="drop_newest"), "links[0].overflow", "did you mean 'drop_new'?"),
    (with_link(epsilon=2.0), "links[0].epsilon", "0"),
    (with_link(weight=-1.0), "links[0].weight", "0"),
    (with_link(capacity=0), "links[0].capacity", "1 to"),
    (with_link(delay=Bandwidth(bits_per_s=0)), "links[0].delay.bits_per_s", "1"),
    (with_link(delay=Bandwidth(bits_per_s=1, least_bytes=-1)), "links[0].delay.least_bytes", "0 to"),
    (with_link(delay=Constant(delay="500000h"), propagation="500000h"), "links", "delays that add up to"),
    (with_publisher(broker="nroth"), "publishers[0].broker", "did you mean 'north'?"),
    (
        replace(with_publisher(topic="new"), topics=[Topic(name="news")]),
        "publishers[0].topic",
        "did you mean 'news'?",
    ),
    (with_publisher(topic="a/#"), "topics[0].name", ""),
    (with_publisher(workload=Processor()), "publishers[0].workload", "a Periodic or a Poisson"),
    (with_publisher(workload=Periodic(period="1s", jitter="2s")), "publishers[0].workload.jitter", "0 to"),
    (with_publisher(workload=Uniform(low="2s", high="1s")), "publishers[0].workload.high", "2000000000 to"),
    (with_publisher(workload=Greedy(rate=1, burst=0)), "publishers[0].workload.burst", "1 to"),
    (with_publisher(workload=Trace(at_ns=[5, 3])), "publishers[0].workload.at_ns[1]", "order of time"),
    (with_publisher(size_bytes=(9, 3)), "publishers[0].size_bytes", "lesser"),
    (with_publisher(size_bytes="much"), "publishers[0].size_bytes", "a whole number"),
    (with_publisher(priority=8), "publishers[0].priority", "0 to 7"),
    (with_publisher(windows=[("2s", "1s")]), "publishers[0].windows[0]", "not empty"),
    (
        with_publisher(attributes=[Attribute(name="x", low=3, high=1)]),
        "publishers[0].attributes[0]",
        "the lesser first",
    ),
    (with_publisher(attributes=[("x", 0, 1)]), "publishers[0].attributes[0]", "an Attribute"),
    (with_publisher(offer={"rate": 1}), "publishers[0].offer", "an Offer"),
    (with_publisher(offer=Offer()), "publishers[0].offer", "a min_sep or a rate"),
    (with_publisher(offer=Offer(rate=1, timeout="1s")), "publishers[0].offer.timeout", "beside the offer"),
    (with_publisher(offer=Offer(rate=1, max_size=1)), "publishers[0].offer.max_size", "size_bytes"),
    (with_publisher(offer=Offer(rate=1, queue=1)), "publishers[0].offer.queue", "capacity"),
    (with_publisher(offer=Offer(rate=1, max_sep="2s")), "publishers[0].offer.max_sep", "no max_sep"),
    (with_subscriber(broker="south "), "subscribers[0].broker", "did you mean 'south'?"),
    (with_subscriber(broker="island"), "subscribers[0].broker", 'a path from "north", where "p" publishes'),
    (with_subscriber(pattern="a/#/b"), "subscribers[0].pattern", ""),
    (with_subscriber(pattern=None), "subscribers[0].pattern", "a text"),
    (with_subscriber(filter=3), "subscribers[0].filter", "a text or nothing"),
    (with_subscriber(filter="x <"), "subscribers[0].filter", "at position 3"),
    (with_subscriber(price=-1.0), "subscribers[0].price", "0 to"),
    (with_subscriber(penalty=float("nan")), "subscribers[0].penalty", "0 to"),
    (replace(GOOD, brokers=[Broker(name="b", processor="twrr")]), "brokers[0].processor", "a Processor"),  # type: ignore[arg-type]
    (with_link(name=""), "links[0].name", "a name"),
    (with_processor(policy="twr"), "brokers[0].processor.policy", "did you mean 'twrr'?"),
    (with_processor(fragment_bytes=0), "brokers[0].processor.fragment_bytes", "at least 1"),
    (with_processor(capacity=0), "brokers[0].processor.capacity", "1 to"),
    (with_processor(period="1ms", budget="2ms"), "brokers[0].processor.budget", "1 to the period"),
    (with_processor(Topic(name="news")), "topics[0].service_ns", "a broker has a processor"),
    (with_processor(Topic(name="news", service_ns=1, weight=0)), "topics[0].weight", "1 to"),
    (replace(GOOD, media=[Ethernet(name="e", attempts=0)]), "media[0].attempts", "at least 1"),
    (
        replace(GOOD, faults=[LinkDown(link="north->suoth")]),
        "faults[0].link",
        "did you mean 'north->south'?",
    ),
    (replace(GOOD, faults=[BrokerDown(broker="sourh")]), "faults[0].broker", "did you mean 'south'?"),
    (
        replace(GOOD, faults=[LinkDown(link="north->south", start="2s", end="1s")]),
        "faults[0].end",
        "more than start",
    ),
    (replace(GOOD, faults=[Loss(link="north->south", probability=2)]), "faults[0].probability", "0 to 1"),
    (replace(GOOD, faults=[Spike(link="north->south", factor=-1)]), "faults[0].factor", "0 to"),
    (layered("ab", "bc", "ca"), "links[2].target", "the link closes the cycle c -> a -> b -> c"),
    (layered("ab", "ca"), "links[1].target", "above layer 3, and it is in layer 1"),
    (
        replace(layered("ab"), brokers=[*LAYERS, Broker(name="d")]),
        "brokers[3].layer",
        "a broker has a layer if another has one",
    ),
]


@pytest.mark.parametrize(("scenario", "field", "expected"), WRONG, ids=[field for _, field, _ in WRONG])
def test_what_cannot_run_is_named_with_its_path(scenario: Scenario, field: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        scenario.check()
    assert caught.value.field == field
    assert expected in caught.value.expected
    with pytest.raises(InvalidInput) as again:
        run(scenario)
    assert again.value.field == field


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Periodic(period="0s"), "period"),
        (lambda: Periodic(period="-1s"), "period"),
        (lambda: Periodic(period="1s", phase="soon"), "phase"),
        (lambda: Poisson(rate=-1), "rate"),
        (lambda: Greedy(rate=0), "rate"),
        (lambda: Uniform(high=0), "high"),
        (lambda: Trace(at_ns=5), "at_ns"),  # type: ignore[arg-type]
        (lambda: Normal(mean_per_kb="fast"), "mean_per_kb"),
        (lambda: Bandwidth(bits_per_s="10 Mbits"), "bits_per_s"),
        (lambda: Subscriber(name="s", broker="b", pattern="x", deadline=0), "deadline"),
        (lambda: replace(PUBLISHER, windows=["1s"]), "windows[0]"),
        (lambda: replace(PUBLISHER, windows=[("0s", "soon")]), "windows[0][1]"),
        (lambda: replace(PUBLISHER, windows=5), "windows"),
        (lambda: replace(PUBLISHER, attributes=5), "attributes"),
        (lambda: Processor(period="1ms"), "period"),
        (lambda: Processor(budget="1ms"), "budget"),
        (lambda: Scenario(until=0, brokers=[]), "until"),
        (lambda: Scenario(until=1, brokers=3), "brokers"),  # type: ignore[arg-type]
        (lambda: run(GOOD, records="all"), "records"),
        (lambda: run(GOOD, seed=-1), "seed"),
        (lambda: run(GOOD, until="-1s"), "until"),
        (lambda: run("scenario.toml"), "scenario"),  # type: ignore[arg-type]
    ],
)
def test_a_value_that_means_nothing_is_refused_where_it_is_given(
    make: Callable[[], object], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"records": None}, "records"),
        ({"records": "all"}, "records"),
        ({"drain": "x"}, "drain"),
        ({"seed": None}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": -1}, "seed"),
        ({"record_capacity": -1}, "record_capacity"),
    ],
)
def test_a_run_that_means_nothing_is_refused_by_the_name_of_the_option(
    options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        run(GOOD, **options)
    assert caught.value.field == field


def test_a_scenario_that_can_run_is_not_refused() -> None:
    GOOD.check()
    layered("ab", "bc", "ac").check()
    assert run(GOOD).counters["delivered"] == 5


def test_a_cycle_is_no_mistake_where_no_layers_are() -> None:
    plain = [replace(broker, layer=None) for broker in LAYERS]
    replace(layered("ab", "bc", "ca"), brokers=plain).check()


def test_durations_are_one_however_they_are_said() -> None:
    said = [Periodic(period=each) for each in ("20ms", 0.02, timedelta(milliseconds=20), "20000us")]
    assert len(set(said)) == 1
    assert said[0].period_ns == 20_000_000
    assert repr(said[1]) == "Periodic(period='20ms', phase=None, jitter='0s')"
