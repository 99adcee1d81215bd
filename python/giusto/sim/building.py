"""The network of the core that a scenario describes: names become numbers, parts become options."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from giusto import _core
from giusto.contract import Offer
from giusto.errors import FilterSyntax, InvalidInput
from giusto.sim.delay import Bandwidth, Constant, Delay, Normal
from giusto.sim.fault import BrokerDown, Fault, LinkDown, Loss, Spike
from giusto.sim.medium import Can, Ethernet, Medium
from giusto.sim.network import Broker, Link, Publisher, Subscriber
from giusto.sim.scenario import Scenario
from giusto.sim.topic import Topic
from giusto.sim.workload import Greedy, Periodic, Poisson, Trace, Uniform, Workload

# Where the core's names lie in the parts of a scenario.
_PLACES = {
    "brokers": {
        "input": "processor.policy",
        **{
            name: f"processor.{name}"
            for name in ("fragment_bytes", "search_ns", "capacity", "period_ns", "budget_ns")
        },
    },
    "links": {
        **{
            name: f"delay.{name}"
            for name in (
                "mean_ns_per_kb",
                "deviation_ns_per_kb",
                "delay_ns",
                "bits_per_s",
                "overhead_bytes",
                "least_bytes",
            )
        },
        **{f"estimate.{name}": f"estimate.{name}" for name in ("mean_ns_per_kb", "deviation_ns_per_kb")},
    },
    "publishers": {
        "mean_ns": "workload.rate",
        "count": "workload.rate",
        **{
            name: f"workload.{name}"
            for name in ("period_ns", "phase_ns", "jitter_ns", "low_ns", "high_ns", "burst", "at_ns")
        },
    },
    "faults": {"from_ns": "start", "to_ns": "end"},
}
_PATH = re.compile(r"(\w+)(\[\d+\])\.(\w+)(.*)")
_OF_TOPIC = re.compile(r'(.*), for "(.*)" at broker ".*"')


def build(
    scenario: Scenario, *, seed: int = 0, records: str = "none", record_capacity: int | None = None
) -> _core.Network:
    """The network; what the core refuses is named with its path in the scenario."""
    run = scenario.run_name(seed)
    net = _core.Network(seed=seed, name=run, records=records, record_capacity=record_capacity)
    try:
        _fill(net, scenario)
    except InvalidInput as error:
        raise placed(error, scenario) from None
    return net


def _fill(net: _core.Network, scenario: Scenario) -> None:
    for n, topic in enumerate(scenario.all_topics):
        net.topic(topic.name, share=_share(n, topic), service_ns=topic.service_ns)
    for broker in scenario.brokers:
        net.broker(broker.name, **_broker(broker))
    for medium in scenario.media:
        net.medium(medium.name, **_medium(medium))
    brokers = _numbers(broker.name for broker in scenario.brokers)
    media = _numbers(medium.name for medium in scenario.media)
    for link in scenario.links:
        medium_number = None if link.medium is None else media[link.medium]
        net.link(brokers[link.source], brokers[link.target], medium=medium_number, **_link(link))
    topics = _numbers(topic.name for topic in scenario.all_topics)
    for publisher in scenario.publishers:
        net.publisher(
            brokers[publisher.broker], topics[publisher.topic], publisher.name, **_publisher(publisher)
        )
    for n, subscriber in enumerate(scenario.subscribers):
        _subscribe(net, n, subscriber, brokers)
    links = _numbers(link.label for link in scenario.links)
    for fault in scenario.faults:
        net.fault(**_fault(fault, brokers, links))


def _numbers(names: Iterable[str]) -> dict[str, int]:
    return {name: n for n, name in enumerate(names)}


def _share(n: int, topic: Topic) -> _core.Share:
    try:
        return topic.share
    except InvalidInput as error:
        raise InvalidInput(f"topics[{n}].{error.field}", error.value, error.expected) from None


def _broker(broker: Broker) -> dict[str, Any]:
    options: dict[str, Any] = {"processing_ns": broker.processing_ns}
    processor = broker.processor
    if processor is not None:
        options |= {
            "input": processor.policy,
            "fragment_bytes": processor.fragment_bytes,
            "search_ns": processor.search_ns,
            "capacity": processor.capacity,
            "period_ns": processor.period_ns,
            "budget_ns": processor.budget_ns,
        }
    return options


def _medium(medium: Medium) -> dict[str, Any]:
    match medium:
        case Ethernet():
            return {
                "kind": "ethernet",
                "slot_ns": medium.slot_ns,
                "gap_ns": medium.gap_ns,
                "attempts": medium.attempts,
            }
        case Can():
            return {"kind": "can"}
    return {"kind": "switched"}


def _link(link: Link) -> dict[str, Any]:
    return {
        **_delay(link.delay),
        **_estimate(link.estimate),
        "propagation_ns": link.propagation_ns,
        "policy": link.policy,
        "expiry": link.expiry,
        "epsilon": link.epsilon,
        "weight": link.weight,
        "mean_transmission_ns": link.mean_transmission_ns,
        "capacity": link.capacity,
        "overflow": link.overflow,
    }


def _estimate(estimate: Normal | None) -> dict[str, Any]:
    if estimate is None:
        return {}
    return {
        "estimate_mean_ns_per_kb": estimate.mean_ns_per_kb,
        "estimate_deviation_ns_per_kb": estimate.deviation_ns_per_kb,
    }


def _delay(delay: Delay) -> dict[str, Any]:
    match delay:
        case Normal():
            return {
                "delay": "normal",
                "mean_ns_per_kb": delay.mean_ns_per_kb,
                "deviation_ns_per_kb": delay.deviation_ns_per_kb,
            }
        case Constant():
            return {"delay": "constant", "delay_ns": delay.delay_ns}
        case Bandwidth():
            return {
                "delay": "bandwidth",
                "bits_per_s": delay.bits_per_s,
                "overhead_bytes": delay.overhead_bytes,
                "least_bytes": delay.least_bytes,
            }


def _publisher(publisher: Publisher) -> dict[str, Any]:
    return {
        **_workload(publisher.workload),
        "windows": publisher.windows_ns,
        "size_bytes": publisher.size_bytes,
        "priority": publisher.priority,
        "timeout_ns": publisher.timeout_ns,
        "delay_ns": publisher.delay_ns,
        "attributes": [(each.name, each.low, each.high) for each in publisher.attributes],
        "limit": None if publisher.offer is None else _limit(publisher.offer),
    }


def _limit(offer: Offer) -> tuple[int, int, int, int] | None:
    return None if offer.limit is None else (*offer.limit, offer.burst, offer.jitter_ns)


def _workload(workload: Workload) -> dict[str, Any]:
    match workload:
        case Periodic(period_ns=period_ns, phase_ns=phase_ns, jitter_ns=jitter_ns):
            times = {"period_ns": period_ns, "phase_ns": phase_ns, "jitter_ns": jitter_ns}
            return {"workload": "periodic", **times}
        case Poisson():
            return {"workload": "poisson", "mean_ns": workload.mean_ns}
        case Uniform():
            return {"workload": "uniform", "low_ns": workload.low_ns, "high_ns": workload.high_ns}
        case Greedy():
            earned = {"count": workload.count, "period_ns": workload.period_ns}
            return {"workload": "greedy", "burst": workload.burst, **earned}
        case Trace():
            return {"workload": "trace", "at_ns": workload.at_ns}


def _subscribe(net: _core.Network, n: int, subscriber: Subscriber, brokers: dict[str, int]) -> None:
    try:
        net.subscriber(
            brokers[subscriber.broker],
            subscriber.name,
            subscriber.pattern,
            filter=subscriber.filter,
            deadline_ns=subscriber.deadline_ns,
            price=subscriber.price,
            penalty=subscriber.penalty,
            delay_ns=subscriber.delay_ns,
        )
    except FilterSyntax as error:
        expected = f"a filter: {error.problem} at position {error.position}"
        raise InvalidInput(f"subscribers[{n}].filter", error.text, expected) from None


def _fault(fault: Fault, brokers: dict[str, int], links: dict[str, int]) -> dict[str, Any]:
    window = {"from_ns": fault.start_ns, "to_ns": fault.end_ns}
    match fault:
        case BrokerDown():
            return {"kind": "broker_down", "broker": brokers[fault.broker], **window}
        case LinkDown():
            return {"kind": "link_down", "link": links[fault.link], **window}
        case Spike():
            change = {"factor": fault.factor, "extra_ns": fault.extra_ns}
            return {"kind": "spike", "link": links[fault.link], **change, **window}
        case Loss():
            return {
                "kind": "loss",
                "link": links[fault.link],
                "probability": fault.probability,
                **window,
            }


def placed(error: InvalidInput, scenario: Scenario) -> InvalidInput:
    """The same error with its path in the scenario instead of the core's."""
    found = _PATH.fullmatch(error.field)
    if found is None:
        return InvalidInput(error.field.replace("until_ns", "until"), error.value, error.expected)
    part, number, name, rest = found.groups()
    of_topic = _OF_TOPIC.fullmatch(error.expected)
    if part == "brokers" and of_topic is not None:
        names = [topic.name for topic in scenario.all_topics]
        if of_topic[2] in names:
            return InvalidInput(f"topics[{names.index(of_topic[2])}].{name}", error.value, of_topic[1])
    place = _PLACES.get(part, {}).get(name, name)
    value, expected = error.value, error.expected
    if "_ns" in name and part != "topics" and name != "at_ns":
        # The field is said without a unit here.
        place, value, expected = place.replace("_ns", ""), f"{value} ns", f"{expected}, in nanoseconds"
        expected = expected.replace("from_ns", "start")
    return InvalidInput(f"{part}{number}.{place}{rest}", value, expected)
