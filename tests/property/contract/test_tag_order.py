"""What `fair` and `edf` promise beyond the common contract: the order of the tags, message by message."""

from __future__ import annotations

import random
from fractions import Fraction

from giusto import _core
from seeds import seeds


class Fair:
    """GUARANTEES 2.1 word for word: a tag when a message arrives, everything reset at idle."""

    def __init__(self, shares: list[_core.Share]) -> None:
        self.shares, self.now = shares, Fraction(0)
        self.starts: list[Fraction | None] = [None] * len(shares)

    def finish(self, topic: int, _at_ns: int) -> Fraction:
        share, last = self.shares[topic], self.starts[topic]
        start = self.now if last is None else max(self.now, last + Fraction(1, share.rate))
        self.starts[topic] = start
        ticks = share.virtual_deadline
        return start + (Fraction(1, share.rate) if ticks is None else Fraction(ticks, _core.TICKS))

    def take(self, finish: Fraction) -> None:
        self.now = finish

    def idle(self) -> None:
        self.now, self.starts = Fraction(0), [None] * len(self.shares)


class Edf:
    """GUARANTEES 2.3 word for word."""

    def __init__(self, shares: list[_core.Share]) -> None:
        self.shares = shares
        self.starts: list[int | None] = [None] * len(shares)

    def finish(self, topic: int, at_ns: int) -> Fraction:
        share, last = self.shares[topic], self.starts[topic]
        start = at_ns if last is None else max(at_ns, last + share.period_ns)
        self.starts[topic] = start
        return Fraction(start + share.deadline_ns)

    def take(self, finish: Fraction) -> None:
        pass

    def idle(self) -> None:
        pass


def expected(rule: Fair | Edf, service_ns: list[int], arrivals: list[tuple[int, int]]) -> list[int]:
    """Arrivals, as (instant, topic), in the order in which their least tags are served."""
    order: list[int] = []
    waiting: list[tuple[Fraction, int, int]] = []
    now, taken = 0, 0
    while len(order) < len(arrivals):
        while taken < len(arrivals) and arrivals[taken][0] <= now:
            at_ns, topic = arrivals[taken]
            waiting.append((rule.finish(topic, at_ns), topic, taken))
            taken += 1
        if not waiting:
            rule.idle()
            now = arrivals[taken][0]
            continue
        finish, topic, arrival = min(waiting)
        waiting.remove((finish, topic, arrival))
        rule.take(finish)
        order.append(arrival)
        now += service_ns[topic]
    return order


def check(policy: str, rule: type[Fair] | type[Edf], seed: int) -> None:
    rng = random.Random(seed)
    topics = rng.randint(1, 5)
    shares = []
    for _ in range(topics):
        rate = rng.randint(1, 12)
        ticks = rng.choice([None, 0, _core.TICKS // rate // rng.randint(1, 9)])
        period_ns, deadline_ns = rng.randint(1, 60), rng.randint(1, 60)
        shares.append(
            _core.Share(rate=rate, virtual_deadline=ticks, period_ns=period_ns, deadline_ns=deadline_ns)
        )
    service_ns = [rng.randint(1, 9) for _ in range(topics)]
    horizon_ns = rng.choice([1, 100, 400, 2_000])
    arrivals = sorted((rng.randrange(horizon_ns), rng.randrange(topics)) for _ in range(60))
    run = _core.serve(
        policy,
        shares=shares,
        service_ns=service_ns,
        flows=[(0, topic, 100) for topic in range(topics)],
        arrivals=[(at_ns, topic, 0, 100) for at_ns, topic in arrivals],
    )
    order = [arrival for arrival, _, _ in run.completions]
    assert order == expected(rule(shares), service_ns, arrivals), f"{seed=}"


def test_fair_serves_by_the_least_virtual_tag() -> None:
    for seed in seeds(500):
        check("fair", Fair, seed)


def test_edf_serves_by_the_least_deadline() -> None:
    for seed in seeds(500):
        check("edf", Edf, seed)
