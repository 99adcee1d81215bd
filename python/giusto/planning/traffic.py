"""Which traffic is guarded when some of the needs are granted, and what is left as the rest.

The rules are those of the broker: a need for a latency guards every topic that it covers, everybody who
publishes there is read in the guarded part of a turn with all that he sends, and the rest only blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from giusto.contract.offer import SIZE_BYTES_DEFAULT
from giusto.guarantee.model import Demand, Rest, Supply
from giusto.planning.scenario import Offered, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What differs from the scenario: rates times a factor, on all topics or some, and other promises."""

    factor: Fraction = Fraction(1)
    topics: frozenset[str] | None = None
    max_latency_ns: Mapping[int, int] = field(default_factory=dict)

    def rate(self, topic: str, limit: tuple[int, int]) -> tuple[int, int]:
        """Messages per nanoseconds, in whole numbers."""
        if self.topics is not None and topic not in self.topics:
            return limit
        return limit[0] * self.factor.numerator, limit[1] * self.factor.denominator


UNCHANGED = Changed()

# What a broker reckons with in any case: up to here the rest makes no bound longer.
REST_LEAST = Rest(fanout=64, size_bytes=65_536)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The guarded traffic, and the rest. `fanout` has every guarded topic."""

    supplies: tuple[Supply, ...]
    demands: tuple[Demand, ...]
    fanout: Mapping[str, int]
    rest: Rest


def traffic(scenario: Scenario, granted: Collection[int], changed: Changed = UNCHANGED) -> Traffic:
    """The traffic with the needs of these numbers granted; the others are not there at all."""
    demands = []
    subscribers: defaultdict[str, set[str]] = defaultdict(set)
    for number in granted:
        needed = scenario.needs[number]
        for topic in scenario.covered[needed]:
            subscribers[topic].add(needed.client)
            if needed.need.max_latency_ns is not None:
                latency_ns = changed.max_latency_ns.get(number, needed.need.max_latency_ns)
                key = f"need[{number}]"
                demands.append(Demand(key=key, client=needed.client, topic=topic, max_latency_ns=latency_ns))
    guarded = dict.fromkeys(demand.topic for demand in demands)
    return Traffic(
        supplies=_supplies(scenario, guarded, changed),
        demands=tuple(demands),
        fanout={topic: len(subscribers[topic]) for topic in guarded},
        rest=_rest(scenario, guarded, {topic: len(clients) for topic, clients in subscribers.items()}),
    )


def _supplies(scenario: Scenario, guarded: Collection[str], changed: Changed) -> tuple[Supply, ...]:
    urgent = {offered.client for offered in scenario.offers if offered.topic in guarded}
    found = []
    for offered in scenario.offers:
        limit = offered.offer.limit
        if offered.client in urgent and limit is not None:
            count, period_ns = changed.rate(offered.topic, limit)
            found.append(_supply(scenario, offered, count, period_ns))
    return tuple(found)


def _supply(scenario: Scenario, offered: Offered, count: int, period_ns: int) -> Supply:
    return Supply(
        client=offered.client,
        topic=offered.topic,
        count=count,
        period_ns=period_ns,
        burst=offered.offer.burst,
        jitter_ns=offered.offer.jitter_ns + scenario.config.guarantee.tolerance_ns,
        size_bytes=size_bytes(offered),
    )


def size_bytes(offered: Offered) -> int:
    """The largest message of an offer."""
    size = offered.offer.max_size_bytes
    return SIZE_BYTES_DEFAULT if size is None else size


def _rest(scenario: Scenario, guarded: Collection[str], fanout: Mapping[str, int]) -> Rest:
    """The largest message and fan-out of what is not guarded, rounded up as the broker does."""
    free = [offered for offered in scenario.offers if offered.topic not in guarded]
    widest = max((fanout.get(offered.topic, 0) for offered in free), default=0)
    largest = max((size_bytes(offered) for offered in free), default=0)
    return Rest(
        fanout=_rounded_up(max(REST_LEAST.fanout, widest, scenario.rest.fanout)),
        size_bytes=_rounded_up(max(REST_LEAST.size_bytes, largest, scenario.rest.size_bytes)),
    )


def _rounded_up(number: int) -> int:
    """The next power of two."""
    return 1 << (number - 1).bit_length()
