"""Which traffic is guarded when some of the needs are granted, and what is left as the rest.

The rules are those of the broker: a need for a latency guards every topic that it covers, everybody who
publishes there is read in the guarded part of a turn with all that he sends, and the rest only blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from giusto.guarantee.model import Demand, Rest, Supply
from giusto.guarantee.rest import larger, rest_of
from giusto.guarantee.supplies import size_of, supply_of
from giusto.planning.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What differs from the scenario: rates and sizes, on all topics or some, and other promises."""

    factor: Fraction = Fraction(1)
    size_bytes_max: int | None = None
    topics: frozenset[str] | None = None
    max_latency_ns: Mapping[int, int] = field(default_factory=dict)

    def rate(self, topic: str, limit: tuple[int, int]) -> tuple[int, int]:
        """Messages per nanoseconds, in whole numbers."""
        if self.topics is not None and topic not in self.topics:
            return limit
        return limit[0] * self.factor.numerator, limit[1] * self.factor.denominator

    def size_bytes(self, topic: str, given: int) -> int:
        """The largest message of an offer."""
        if self.size_bytes_max is None or (self.topics is not None and topic not in self.topics):
            return given
        return min(given, self.size_bytes_max)


UNCHANGED = Changed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The guarded traffic, and the rest. `fanout` has every guarded topic, `subscriptions` all topics."""

    supplies: tuple[Supply, ...]
    demands: tuple[Demand, ...]
    fanout: Mapping[str, int]
    subscriptions: Mapping[str, int]
    receivers: Mapping[str, frozenset[str]]
    rest: Rest


def traffic(scenario: Scenario, granted: Collection[int], changed: Changed = UNCHANGED) -> Traffic:
    """The traffic with the needs of these numbers granted; the others are not there at all."""
    demands = []
    subscribers: defaultdict[str, list[str]] = defaultdict(list)
    for number in granted:
        needed = scenario.needs[number]
        for topic in scenario.covered[needed]:
            subscribers[topic].append(needed.client)
            if needed.need.max_latency_ns is not None:
                latency_ns = changed.max_latency_ns.get(number, needed.need.max_latency_ns)
                demand = Demand(
                    key=f"need[{number}]",
                    client=needed.client,
                    topic=topic,
                    max_latency_ns=latency_ns,
                    pattern=needed.pattern,
                )
                demands.append(demand)
    guarded = dict.fromkeys(demand.topic for demand in demands)
    subscriptions = {topic: len(clients) for topic, clients in subscribers.items()}
    return Traffic(
        supplies=_supplies(scenario, guarded, changed),
        demands=tuple(demands),
        fanout={topic: len(set(subscribers[topic])) for topic in guarded},
        subscriptions=subscriptions,
        receivers={topic: frozenset(subscribers[topic]) for topic in guarded},
        rest=_rest(scenario, guarded, subscriptions),
    )


def _supplies(scenario: Scenario, guarded: Collection[str], changed: Changed) -> tuple[Supply, ...]:
    urgent = {offered.client for offered in scenario.offers if offered.topic in guarded}
    tolerance_ns = scenario.config.tolerance_ns
    found = []
    for offered in scenario.offers:
        if offered.client in urgent and offered.offer.limit is not None:
            count, period_ns = changed.rate(offered.topic, offered.offer.limit)
            supply = supply_of(offered.client, offered.topic, offered.offer, tolerance_ns)
            size_bytes = changed.size_bytes(offered.topic, supply.size_bytes)
            found.append(replace(supply, count=count, period_ns=period_ns, size_bytes=size_bytes))
    return tuple(found)


def _rest(scenario: Scenario, guarded: Collection[str], subscriptions: Mapping[str, int]) -> Rest:
    """The largest message and fan-out of what is not guarded."""
    free = [offered for offered in scenario.offers if offered.topic not in guarded]
    widest = max((subscriptions.get(offered.topic, 0) for offered in free), default=0)
    largest = max((size_of(offered.offer) for offered in free), default=0)
    beside = scenario.rest
    return larger(rest_of(widest, largest), rest_of(beside.fanout, beside.size_bytes))
