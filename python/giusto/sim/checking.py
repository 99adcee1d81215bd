"""Which scenarios can run: the first thing that is wrong, with its path and the nearest that would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from types import NoneType

from giusto import _core
from giusto.contract import Offer
from giusto.errors import InvalidInput
from giusto.sim.building import build, placed
from giusto.sim.delay import DELAYS, Normal
from giusto.sim.fault import FAULTS, BrokerDown
from giusto.sim.medium import MEDIA
from giusto.sim.network import Attribute, Broker, Link, Processor, Publisher, Subscriber
from giusto.sim.scenario import Scenario
from giusto.sim.topic import Topic
from giusto.sim.workload import WORKLOADS

EXPIRIES = ("none", "dead", "eps")
OVERFLOWS = ("drop_oldest", "drop_new", "disconnect")
NAMES_MAX = 10_000
"""Among more names than this the nearest is not looked for."""
_WORDS = {str: "a text", NoneType: "nothing", Attribute: "an Attribute", Offer: "an Offer"}
_KINDS: dict[str, tuple[type, ...]] = {
    "brokers": (Broker,),
    "links": (Link,),
    "publishers": (Publisher,),
    "subscribers": (Subscriber,),
    "topics": (Topic,),
    "media": tuple(MEDIA.values()),
    "faults": tuple(FAULTS.values()),
}


def check(scenario: Scenario) -> None:
    """Raise `InvalidInput` for the first thing that cannot run."""
    check_names(scenario)
    try:
        build(scenario).check(scenario.until_ns)
    except InvalidInput as error:
        raise placed(error, scenario) from None


def check_names(scenario: Scenario) -> None:
    """Raise `InvalidInput` for what the core cannot be asked: it knows numbers, not names."""
    _require_kinds(scenario)
    _require_names(scenario)
    brokers = [broker.name for broker in scenario.brokers]
    _check_brokers(scenario)
    _check_links(scenario, brokers)
    _check_clients(scenario, brokers)
    _check_faults(scenario, brokers)
    _check_layers(scenario)


def _require_kinds(scenario: Scenario) -> None:
    for name, kinds in _KINDS.items():
        for n, part in enumerate(getattr(scenario, name)):
            if not isinstance(part, kinds):
                expected = " or ".join(f"a {kind.__name__}" for kind in kinds)
                raise InvalidInput(f"{name}[{n}]", part, expected)
    if not scenario.brokers:
        raise InvalidInput("brokers", "none", "at least one broker")


def _require_names(scenario: Scenario) -> None:
    """Names are texts, and each is there once in its list."""
    if not isinstance(scenario.name, str) or not scenario.name:
        raise InvalidInput("name", scenario.name, "a name")
    for name in ("brokers", "links", "publishers", "subscribers", "topics", "media"):
        seen: dict[str, int] = {}
        for n, part in enumerate(getattr(scenario, name)):
            called = part.label if isinstance(part, Link) else part.name
            if not isinstance(called, str) or not called:
                raise InvalidInput(f"{name}[{n}].name", called, "a name")
            first = seen.setdefault(called, n)
            if first != n:
                expected = f"a name that no other has: {name}[{first}] is called so too"
                raise InvalidInput(f"{name}[{n}].name", called, expected)


def _check_brokers(scenario: Scenario) -> None:
    policies = [name for name, _ in _core.input_policies()]
    for n, broker in enumerate(scenario.brokers):
        if broker.processor is not None:
            _require_kind(f"brokers[{n}].processor", broker.processor, [Processor])
            _require_policy(f"brokers[{n}].processor.policy", broker.processor.policy, policies)


def _check_links(scenario: Scenario, brokers: Sequence[str]) -> None:
    known, policies = set(brokers), _core.output_policies()
    media = [medium.name for medium in scenario.media]
    for n, link in enumerate(scenario.links):
        path = f"links[{n}]"
        _require_known(f"{path}.source", link.source, known, "broker")
        _require_known(f"{path}.target", link.target, known, "broker")
        if link.source == link.target:
            raise InvalidInput(f"{path}.target", link.target, "another broker than the source")
        _require_kind(f"{path}.delay", link.delay, DELAYS.values())
        if link.estimate is not None:
            _require_kind(f"{path}.estimate", link.estimate, (Normal,))
        if link.medium is not None:
            _require_known(f"{path}.medium", link.medium, media, "medium")
        _require_policy(f"{path}.policy", link.policy, policies)
        _require_choice(f"{path}.overflow", link.overflow, OVERFLOWS)
        if link.expiry is not None:
            _require_choice(f"{path}.expiry", link.expiry, EXPIRIES)


def _check_clients(scenario: Scenario, brokers: Sequence[str]) -> None:
    known, topics = set(brokers), {topic.name for topic in scenario.all_topics}
    for n, publisher in enumerate(scenario.publishers):
        path = f"publishers[{n}]"
        _require_known(f"{path}.broker", publisher.broker, known, "broker")
        _require_known(f"{path}.topic", publisher.topic, topics, "topic")
        _require_kind(f"{path}.workload", publisher.workload, WORKLOADS.values())
        for m, attribute in enumerate(publisher.attributes):
            _require_kind(f"{path}.attributes[{m}]", attribute, [Attribute])
        if publisher.offer is not None:
            _check_offer(f"{path}.offer", publisher.offer)
    for n, subscriber in enumerate(scenario.subscribers):
        _require_known(f"subscribers[{n}].broker", subscriber.broker, known, "broker")
        _require_kind(f"subscribers[{n}].pattern", subscriber.pattern, [str])
        _require_kind(f"subscribers[{n}].filter", subscriber.filter, [str, NoneType])


def _check_offer(path: str, offer: Offer) -> None:
    """What an offer says beyond its limit is said by the publisher's own fields here."""
    _require_kind(path, offer, [Offer])
    if offer.limit is None:
        raise InvalidInput(path, offer, "a min_sep or a rate: without one nothing is policed")
    unused = {
        "max_sep": (offer.max_sep_ns, None, "no max_sep: nobody is told in a simulation that it was broken"),
        "max_size": (offer.max_size_bytes, None, "no max_size: the publisher's size_bytes says the size"),
        "timeout": (offer.timeout_ns, 0, "no timeout: it is said beside the offer, as the publisher's own"),
        "queue": (offer.queue, 1024, "no queue: the processor's capacity says how many may wait"),
    }
    for name, (value, absent, expected) in unused.items():
        if value != absent:
            raise InvalidInput(f"{path}.{name}", value, expected)


def _check_faults(scenario: Scenario, brokers: Sequence[str]) -> None:
    links = [link.label for link in scenario.links]
    for n, fault in enumerate(scenario.faults):
        if isinstance(fault, BrokerDown):
            _require_known(f"faults[{n}].broker", fault.broker, brokers, "broker")
        else:
            _require_known(f"faults[{n}].link", fault.link, links, "link")


def _check_layers(scenario: Scenario) -> None:
    """In a layered overlay links lead to higher layers, so that there is no cycle."""
    layers = {broker.name: broker.layer for broker in scenario.brokers}
    if all(layer is None for layer in layers.values()):
        return
    for n, broker in enumerate(scenario.brokers):
        if isinstance(broker.layer, bool) or not isinstance(broker.layer, int):
            expected = "a whole number: a broker has a layer if another has one"
            raise InvalidInput(f"brokers[{n}].layer", broker.layer, expected)
    for n, link in enumerate(scenario.links):
        source, target = layers[link.source], layers[link.target]
        if source is not None and target is not None and target <= source:
            cycle = _cycle(scenario.links, link)
            closes = "" if cycle is None else f"; the link closes the cycle {' -> '.join(cycle)}"
            expected = f"a broker above layer {source}, and it is in layer {target}{closes}"
            raise InvalidInput(f"links[{n}].target", link.target, expected)


def _cycle(links: Sequence[Link], closing: Link) -> list[str] | None:
    """The brokers of a cycle that `closing` is part of, with the fewest links; None if there is none."""
    outgoing: dict[str, list[str]] = {}
    for link in links:
        outgoing.setdefault(link.source, []).append(link.target)
    before = {closing.target: closing.target}
    for broker in _reached(closing.target, outgoing, before):
        if broker == closing.source:
            path = [broker]
            while path[-1] != closing.target:
                path.append(before[path[-1]])
            return [closing.source, *reversed(path)]
    return None


def _reached(root: str, outgoing: dict[str, list[str]], before: dict[str, str]) -> Iterator[str]:
    """Brokers behind `root`, nearest first; `before` is told where each was reached from."""
    waiting = [root]
    for broker in waiting:
        yield broker
        for target in outgoing.get(broker, []):
            if target not in before:
                before[target] = broker
                waiting.append(target)


def _require_kind(path: str, value: object, kinds: Iterable[type]) -> None:
    if not isinstance(value, tuple(kinds)):
        expected = " or ".join(_WORDS.get(kind, f"a {kind.__name__}") for kind in kinds)
        raise InvalidInput(path, value, expected)


def _require_policy(path: str, policy: object, known: Sequence[str]) -> None:
    if not callable(policy):
        _require_choice(path, policy, known, " or what makes a policy")


def _require_choice(path: str, value: object, known: Sequence[str], others: str = "") -> None:
    if value not in known:
        expected = f"one of {', '.join(known)}{others}{_nearest(value, known)}"
        raise InvalidInput(path, value, expected)


def _require_known(path: str, name: object, known: Iterable[str], what: str) -> None:
    if not isinstance(name, str) or name not in known:
        expected = f"a {what} of the scenario, and none is called so{_nearest(name, known)}"
        raise InvalidInput(path, name, expected)


def _nearest(name: object, known: Iterable[str]) -> str:
    """What was probably meant."""
    names = list(known)
    near = get_close_matches(str(name), sorted(names), n=1) if len(names) <= NAMES_MAX else []
    return f"; did you mean {near[0]!r}?" if near else ""
