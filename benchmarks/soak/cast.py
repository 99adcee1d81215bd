"""Who takes part in a soak: contracts drawn from a seed, at a part of the rates that admission allows."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import ceil

from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Change, Demand, Rest, Setting, Supply
from giusto.protocol import ShareTerms

SIZES = (32, 200, 1_000, 4_000)
JITTER_NS = 1_000_000
# What the contracts ask for while the largest rates are looked for, in tolerances of the broker.
PATIENCE = 4
BREAKER = "breaker"
STALLED = "stalled"
STEPS = 12
# The largest weight, and the rate that goes with it.
WEIGHTS, RATES = 10, 1_000


class Hopeless(Exception):
    """Not even slow publishers are admitted: this machine takes too long for what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What one publisher sends on one topic."""

    publisher: str
    topic: str
    period_ns: int
    burst: int
    size_bytes: int

    @property
    def rate_hz(self) -> float:
        return 1e9 / self.period_ns

    def told(self) -> dict[str, int | str]:
        """For the process that plays it."""
        return {**asdict(self), "jitter_ns": JITTER_NS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The flows, and for each topic how many subscribers have a contract; one subscriber never reads."""

    flows: tuple[Flow, ...]
    contracts: dict[str, int]
    stalled_on: tuple[str, ...]
    flood_bytes: int
    load: float
    utilisation: float

    @property
    def publishers(self) -> list[str]:
        return sorted({flow.publisher for flow in self.flows})

    @property
    def rate_hz(self) -> float:
        return sum(flow.rate_hz for flow in self.flows)

    def share(self, topic: str) -> ShareTerms:
        """As much of the processor as its fastest flow, or all of them, need."""
        rates = [flow.rate_hz for flow in self.flows if flow.topic == topic]
        busiest = max(flow.rate_hz for flow in self.flows)
        weight = max(1, round(WEIGHTS * max(rates) / busiest))
        return ShareTerms(weight=weight, rate=max(1, round(RATES * sum(rates) / busiest)))

    def of(self, publisher: str) -> list[Flow]:
        return [flow for flow in self.flows if flow.publisher == publisher]


def draw(seed: int, setting: Setting, most_hz: float) -> Cast:
    """Rates at 70 to 95 % of the largest that are admitted together, and never above `most_hz` in all."""
    rng = random.Random(seed)
    rough = sketch(rng)
    largest = largest_factor(rough, setting)
    load = rng.uniform(0.7, 0.95)
    factor = min(largest * Fraction(load), Fraction(most_hz / rough.rate_hz))
    cast = faster(rough, factor)
    book = Book(setting)
    book.commit(change(cast, setting))
    return replace(cast, load=float(factor / largest), utilisation=book.utilisation)


def sketch(rng: random.Random) -> Cast:
    """Topics, publishers and subscribers with rates that are right relative to each other."""
    topics = [f"soak/{name}" for name in "abcdef"[: rng.randint(4, 6)]]
    flows = [
        Flow(
            publisher=publisher,
            topic=topic,
            period_ns=rng.randrange(2_000_000, 40_000_000),
            burst=rng.choice((1, 1, 4)),
            size_bytes=rng.choice(SIZES),
        )
        for topic in topics
        for publisher in rng.sample(("p1", "p2", "p3"), rng.randint(1, 2))
    ]
    flows.append(Flow(publisher=BREAKER, topic=topics[0], period_ns=20_000_000, burst=1, size_bytes=200))
    return Cast(
        flows=tuple(flows),
        contracts={topic: rng.choice((1, 1, 2)) for topic in topics},
        stalled_on=(topics[0],),
        flood_bytes=256,
        load=0.0,
        utilisation=0.0,
    )


def faster(cast: Cast, factor: Fraction) -> Cast:
    """All rates times `factor`."""
    flows = tuple(replace(flow, period_ns=max(1, ceil(flow.period_ns / factor))) for flow in cast.flows)
    return replace(cast, flows=flows)


def largest_factor(cast: Cast, setting: Setting) -> Fraction:
    """By how much all rates can be multiplied and are still admitted; `Hopeless` if none is."""
    good, bad = Fraction(0), Fraction(1)
    while admitted(faster(cast, bad), setting):
        good, bad = bad, 2 * bad
    for _ in range(STEPS):
        middle = (good + bad) / 2
        if admitted(faster(cast, middle), setting):
            good = middle
        else:
            bad = middle
    if good == 0:
        raise Hopeless
    return good


def admitted(cast: Cast, setting: Setting) -> bool:
    return Book(setting).decide(change(cast, setting)) is None


def change(cast: Cast, setting: Setting) -> Change:
    """The whole cast as admission sees it."""
    latency_ns = PATIENCE * setting.tolerance_ns
    fanouts = {topic: count + (topic in cast.stalled_on) for topic, count in cast.contracts.items()}
    return Change(
        supplies=tuple(
            Supply(
                client=flow.publisher,
                topic=flow.topic,
                count=1,
                period_ns=flow.period_ns,
                burst=flow.burst,
                jitter_ns=JITTER_NS + setting.tolerance_ns,
                size_bytes=flow.size_bytes,
            )
            for flow in cast.flows
        ),
        demands=tuple(
            Demand(key=topic, client="subscriber", topic=topic, max_latency_ns=latency_ns)
            for topic in cast.contracts
        ),
        topics=tuple(
            Allotted(topic=topic, share=cast.share(topic), fanout=fanout) for topic, fanout in fanouts.items()
        ),
        rest=Rest(fanout=2, size_bytes=cast.flood_bytes),
    )
