"""The network of section 3: 128 brokers in six layers, 40 publishers, 640 subscribers, two hours.

What the paper states is a constant here. What it leaves open is chosen by a `Reading` of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from giusto.sim import (
    Attribute,
    Chance,
    Link,
    Normal,
    Overlay,
    Periodic,
    Poisson,
    Publisher,
    Scenario,
    Subscriber,
    Workload,
    layered,
)

LAYERS = (4, 4, 8, 16, 32, 64)
# A broker of layer 2 is linked from all of layer 1, one of the other layers from two.
PARENTS = (4, 2, 2, 2, 2)
CLIENTS_PER_BROKER = 10
PUBLISHERS = LAYERS[0] * CLIENTS_PER_BROKER
MEAN_MS_PER_KB, DEVIATION_MS_PER_KB = (40.0, 80.0), 20.0
SIZE_KB = 50
PROCESSING, ACCESS = "2ms", "20ms"
EPSILON = 0.04
# Deadline, price, penalty.
TERMS = (("20s", 3.0, 0.3), ("24s", 2.5, 0.25), ("30s", 2.0, 0.2), ("40s", 1.5, 0.15), ("60s", 1.0, 0.1))
ATTRIBUTES = tuple(Attribute(name=f"a{n}", low=0.0, high=10.0) for n in range(1, 5))
LEVELS = (1, 5)
MINUTE_NS = 60 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the paper leaves open: when publishers send, how delays vary, what matches, which way it goes.

    `sending` is `random`, `spread` or `one` (phases of periodic publishers), or `poisson`. `pieces` is how
    many independent draws make up the delay of a message. `filters` are `uniform` thresholds, or `halves`:
    every attribute above or below its middle. `greedy` routes use the faster of a broker's links, whatever
    lies behind it. Without `drain` the two hours end with messages under way.
    """

    sending: str = "random"
    pieces: int = 1
    filters: str = "uniform"
    greedy: bool = False
    drain: bool = True


def scenario(seed: int, rate: float, reading: Reading, link: Link, *, minutes: int = 120) -> Scenario:
    """Two hours in the network that follows from `seed`; every link schedules like `link`."""
    brokers, links = overlay(seed, reading)
    scheduled = [
        replace(each, policy=link.policy, expiry=link.expiry, weight=link.weight, epsilon=EPSILON)
        for each in links
    ]
    return Scenario(
        name="mtep",
        until=f"{minutes}min",
        brokers=brokers,
        links=scheduled,
        publishers=publishers(rate, reading.sending),
        subscribers=subscribers(seed, reading.filters),
    )


@lru_cache(maxsize=64)
def overlay(seed: int, reading: Reading) -> Overlay:
    """Brokers, and links with their rates."""
    # A message of n KB in p pieces deviates by n σ / √p.
    deviation_ms = DEVIATION_MS_PER_KB / reading.pieces**0.5

    def delay(chance: Chance) -> Normal:
        mean_ms = chance.uniform(*MEAN_MS_PER_KB)
        return Normal(mean_per_kb=mean_ms / 1000, deviation_per_kb=deviation_ms / 1000)

    made = layered(LAYERS, parents=PARENTS, delay=delay, processing=PROCESSING, seed=seed)
    return Overlay(made.brokers, fastest(made)) if reading.greedy else made


def fastest(made: Overlay) -> tuple[Link, ...]:
    """From layer 2 on, only the fastest of the links that lead to a broker."""
    first = set(made.layer(1))
    best: dict[str, Link] = {}
    for link in sorted(made.links, key=mean_ns):
        best.setdefault(link.target, link)
    return tuple(link for link in made.links if link.source in first or best[link.target] is link)


def mean_ns(link: Link) -> int:
    """Of a KB."""
    return link.delay.mean_ns_per_kb if isinstance(link.delay, Normal) else 0


@lru_cache(maxsize=64)
def publishers(rate: float, sending: str) -> tuple[Publisher, ...]:
    """Ten at each broker of layer 1, with `rate` messages per minute each; FIX has a level per message."""
    return tuple(
        Publisher(
            name=f"p{number}",
            broker=f"b1.{number % LAYERS[0] + 1}",
            topic="event",
            workload=workload(number, round(MINUTE_NS / rate), sending),
            size_bytes=SIZE_KB * 1024,
            priority=LEVELS,
            delay=ACCESS,
            attributes=ATTRIBUTES,
        )
        for number in range(PUBLISHERS)
    )


def workload(number: int, period_ns: int, sending: str) -> Workload:
    """When a publisher sends."""
    if sending == "poisson":
        return Poisson(rate=1e9 / period_ns)
    phases_ns = {"random": None, "spread": number * period_ns // PUBLISHERS, "one": 0}
    phase_ns = phases_ns[sending]
    return Periodic(period=f"{period_ns}ns", phase=None if phase_ns is None else f"{phase_ns}ns")


@lru_cache(maxsize=64)
def subscribers(seed: int, filters: str) -> tuple[Subscriber, ...]:
    """Ten at each broker of the last layer, each with its terms and a filter of four conditions."""
    return tuple(
        subscriber(f"s{broker}.{number}", f"b{len(LAYERS)}.{broker}", seed, filters)
        for broker in range(1, LAYERS[-1] + 1)
        for number in range(CLIENTS_PER_BROKER)
    )


def subscriber(name: str, broker: str, seed: int, filters: str) -> Subscriber:
    """One of them; what is random about it follows from its name."""
    chance = Chance(seed, name)
    deadline, price, penalty = chance.choice(TERMS)
    conditions = [condition(chance, each.name, filters) for each in ATTRIBUTES]
    return Subscriber(
        name=name,
        broker=broker,
        pattern="event",
        filter=" and ".join(conditions),
        deadline=deadline,
        price=price,
        penalty=penalty,
        delay=ACCESS,
    )


def condition(chance: Chance, attribute: str, filters: str) -> str:
    """True for half of all messages, on average or always."""
    if filters == "halves":
        return f"{attribute} {chance.choice(('<', '>='))} 5"
    return f"{attribute} < {chance.uniform(0, 10):.6f}"
