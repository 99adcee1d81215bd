"""Draws scenes: a bus that admission grants, as loaded as luck has it."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import ceil

from scene import Flood, Flow, Scene

from giusto import _core
from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs, Line
from giusto.guarantee.model import Allotted, Change, Demand, Rest, Setting, Supply
from giusto.protocol import ShareTerms

TOLERANCE_NS = 1_000_000
SIZES = (1, 16, 64, 200, 1_000, 4_000)
LONG_BYTES = 40_000
ATTEMPTS = 100
ANY_LATENCY_NS = 3_600_000_000_000


def draw(rng: random.Random, policy: str, *, timed: bool = False, small: bool = False) -> Scene:
    """A scene as dense as admission allows, or a part of that; every choice comes from `rng`.

    In a small one there is so little that a malicious world comes near the bounds.
    """
    sketch = Sketch(rng, policy, timed, small)
    for _ in range(ATTEMPTS):
        scene = sketch.scene()
        objection = Book(scene.setting).decide(scene.change)
        if objection is None:
            return scene
        if objection.why == "tolerance":
            sketch.forgive(Fraction(3, 2))
        else:
            sketch.thin_out(Fraction(5, 4))
    raise AssertionError(f"nothing is granted, not even at a low rate: {objection}")


class Sketch:
    """Topics, flows and shares before their rates are right."""

    def __init__(self, rng: random.Random, policy: str, timed: bool, small: bool) -> None:
        self.rng, self.policy, self.small = rng, policy, small
        self.setting = draw_setting(rng, policy, timed)
        self.topics = [f"t{n}" for n in range(rng.randint(1, 2 if small else 8))]
        self.subscribers = {topic: self._subscribers() for topic in self.topics}
        self.flood = Flood(
            publishers=rng.choice((0, 1, 3)),
            subscribers=rng.choice((1, 2, 20)),
            size_bytes=rng.choice((1, 1_000, 30_000, 100_000)),
        )
        # Bursts of all at once fill the cells that a bound reckons with; without them most stay empty.
        self.is_bursty = rng.random() < (0.6 if small else 0.4)
        self.offers = self._offers()
        others = sorted({key[0] for key in self.offers})
        others.remove(rng.choice(others))
        self.trusting = small or rng.random() < 0.4
        if self.trusting:
            others = []
            self.setting = replace(self.setting, tolerance_ns=0)
        self.violators = frozenset(client for client in others if rng.random() < 0.15)
        pushing = rng.choice((0, 0.3, 1))
        self.pushers = frozenset(client for client in others if rng.random() < pushing) - self.violators
        self.stretch = Fraction(1)
        self.luck = {topic: rng.uniform(0.8, 2.5) for topic in self.topics}
        self.likes_load = rng.random() < 0.7

    def _subscribers(self) -> tuple[str, ...]:
        most = self.rng.choice((1, 2, 6))
        return tuple(f"s{n}" for n in sorted(self.rng.sample(range(6), self.rng.randint(1, most))))

    def _offers(self) -> dict[tuple[str, str], Flow]:
        """Which clients publish on which topics; periods share out a load at random."""
        rng, offers = self.rng, {}
        clients = [f"p{n}" for n in range(rng.randint(1, 2 if self.small else 6))]
        wanted = rng.uniform(0.3, 1.2)
        pairs = [
            (client, topic)
            for topic in self.topics
            for client in rng.sample(clients, rng.randint(1, min(3, len(clients))))
        ]
        parts = [rng.expovariate(1) + 0.05 for _ in pairs]
        for (client, topic), part in zip(pairs, parts, strict=True):
            offers[client, topic] = self._offer(client, topic, wanted * part / sum(parts))
        return offers

    def _offer(self, client: str, topic: str, load: float) -> Flow:
        rng, costs = self.rng, self.setting.costs
        # A quantum that is longer than the budget of a period could never be promised anything.
        is_long = rng.random() < 0.05 and not self.setting.budget_ns
        size_bytes = LONG_BYTES if is_long else rng.choice(SIZES)
        burst = rng.choice((8, 12, 20, 40) if self.is_bursty else (1, 1, 1, 2, 5, 12))
        supply = Supply(client=client, topic=topic, count=1, period_ns=1, burst=burst, size_bytes=size_bytes)
        served_ns = self._quanta(supply) * costs.serve_ns(size_bytes, len(self.subscribers[topic]))
        each_ns = costs.take_ns(size_bytes) + served_ns + 2 * costs.turn_ns
        period_ns = max(1_000, round(each_ns / load))
        jitter_ns = rng.choice((0, 0, 0, period_ns // 3, 2 * period_ns))
        return Flow(supply=replace(supply, period_ns=period_ns), jitter_ns=jitter_ns)

    def _quanta(self, supply: Supply) -> int:
        return max(1, -(-supply.size_bytes // self.setting.fragment_bytes))

    def forgive(self, factor: Fraction) -> None:
        """A larger tolerance of the broker for what waits in sockets."""
        self.setting = replace(self.setting, tolerance_ns=ceil(self.setting.tolerance_ns * factor))

    def thin_out(self, factor: Fraction) -> None:
        """Longer periods for all."""
        self.stretch *= factor

    # --- a scene of it

    def scene(self) -> Scene:
        flows = [self._stretched(flow) for flow in self.offers.values()]
        topics = tuple(
            Allotted(topic=topic, share=self._share(topic, flows), fanout=fanout)
            for topic, fanout in self._fanouts().items()
        )
        return Scene(
            setting=self.setting,
            topics=topics,
            flows=tuple(flows),
            subscribers=self.subscribers,
            flood=self.flood,
            violators=self.violators,
            pushers=self.pushers,
            trusting=self.trusting,
            change=self._change(topics, flows),
        )

    @property
    def rest(self) -> Rest:
        if not self.flood.publishers:
            return Rest()
        return Rest(fanout=self.flood.subscribers, size_bytes=self.flood.size_bytes)

    def _change(self, topics: tuple[Allotted, ...], flows: list[Flow]) -> Change:
        demands = tuple(
            Demand(
                key=f"{client}/{topic}", client=client, topic=topic, max_latency_ns=self._latency_ns(topic)
            )
            for topic, group in self.subscribers.items()
            for client in group[:1]
        )
        supplies = tuple(flow.supply for flow in flows)
        return Change(supplies=supplies, demands=demands, topics=topics, rest=self.rest)

    def _fanouts(self) -> dict[str, int]:
        return {topic: len(group) for topic, group in self.subscribers.items()}

    def _stretched(self, flow: Flow) -> Flow:
        """As the broker polices and admits it: with its tolerance."""
        period_ns = ceil(flow.supply.period_ns * self.stretch)
        jitter_ns = flow.jitter_ns + self.setting.tolerance_ns
        return replace(flow, supply=replace(flow.supply, period_ns=period_ns, jitter_ns=jitter_ns))

    def _share(self, topic: str, flows: list[Flow]) -> ShareTerms:
        """What the topic needs times its luck, or anything."""
        quanta_per_ns = {one.key: Fraction(self._quanta(one.supply), one.supply.period_ns) for one in flows}
        rates = [rate for key, rate in quanta_per_ns.items() if key[1] == topic]
        busiest = max(quanta_per_ns.values())
        if self.policy in ("twrr", "smooth"):
            part = float(max(rates) / busiest) if self.likes_load else 0.5
            return ShareTerms(weight=max(1, min(10, round(6 * part * self.luck[topic]))))
        if self.policy == "fair":
            rate = max(1, round(200 * float(sum(rates) / busiest) * self.luck[topic]))
            short = int(_core.TICKS // rate * (self.luck[topic] - 0.8) / 1.7)
            return ShareTerms(rate=rate, virtual_deadline=short if self.likes_load else None)
        if self.likes_load:
            return ShareTerms()
        own = [one.supply for one in flows if one.supply.topic == topic]
        slots_per_ns = sum(Fraction(1, one.period_ns) for one in own) * max(map(self._quanta, own))
        period_ns = max(1, int(Fraction(9, 10) / slots_per_ns))
        return ShareTerms(period_ns=period_ns, deadline_ns=self._patience_ns(topic))

    def _patience_ns(self, topic: str) -> int:
        return int(self.stretch * 4_000_000 * Fraction(self.luck[topic]))

    def _latency_ns(self, topic: str) -> int:
        """It matters where deadlines follow from it."""
        is_derived = self.policy == "edf" and self.likes_load
        return 2 * self._patience_ns(topic) if is_derived else ANY_LATENCY_NS


def draw_setting(rng: random.Random, policy: str, timed: bool) -> Setting:
    """Costs of a slow machine, a fast one, or any."""
    period_ns = rng.choice((1_000_000, 5_000_000)) if timed else 0
    return Setting(
        input=policy,
        costs=draw_costs(rng),
        fragment_bytes=rng.choice((65_536, 65_536, 1_024)),
        period_ns=period_ns,
        budget_ns=int(period_ns * rng.uniform(0.5, 0.95)),
        slice_ns=rng.choice((20_000, 100_000)),
        tolerance_ns=TOLERANCE_NS,
    )


def draw_costs(rng: random.Random) -> Costs:
    """The defaults, or something below them; each piece by itself, as it is played."""
    if rng.random() < 0.3:
        return Costs(serve=None, serve_each=None)
    scale = rng.choice((0.3, 1.0, 2.0))
    any_ns = lambda most_ns: max(100, int(rng.uniform(0.1, 1) * scale * most_ns))  # noqa: E731
    return Costs(
        take=Line(any_ns(10_000), any_ns(1_000)),
        step=Line(any_ns(4_000)),
        deliver=Line(any_ns(2_000)),
        write=Line(any_ns(20_000), any_ns(1_000)),
        frame_ns=any_ns(600),
        turn_ns=any_ns(5_000),
        call_ns=any_ns(300_000),
        serve=None,
        serve_each=None,
        basis="drawn",
    )
