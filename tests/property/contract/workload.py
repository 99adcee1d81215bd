"""Generated workloads: what arrives, on which flow, and what each topic has promised.

A flow that keeps its promise is (σ, ρ)-bounded: the n-th message after the start of a burst comes no
earlier than (n - σ)/ρ later. The rest may do what they like (*flood*), and must not hurt anybody.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from giusto import _core

FRAGMENT_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Promise:
    """Topic or flow that keeps to `burst` messages at once and `rate` messages per ns."""

    burst: Fraction
    rate: Fraction

    def times(self, start_ns: int, count: int, pauses: Iterator[int]) -> list[int]:
        """Greedy arrivals from `start_ns` on, with a random pause now and then."""
        times: list[int] = []
        bucket, at_ns = self.burst, start_ns
        for _ in range(count):
            pause_ns = next(pauses)
            bucket = min(self.burst, bucket + self.rate * pause_ns)
            at_ns += pause_ns
            if bucket < 1:
                wait_ns = math.ceil((1 - bucket) / self.rate)
                bucket = min(self.burst, bucket + self.rate * wait_ns)
                at_ns += wait_ns
            bucket -= 1
            times.append(at_ns)
        return times


@dataclass(frozen=True, slots=True)
class Workload:
    """Everything that one run of the virtual-time server needs."""

    shares: list[_core.Share]
    service_ns: list[int]
    flows: list[tuple[int, int, int]]  # client, topic, capacity
    arrivals: list[tuple[int, int, int, int]]  # at_ns, flow, priority, size_bytes
    service_first: bool = False

    @property
    def publishers(self) -> list[int]:
        return [sum(1 for _, topic, _ in self.flows if topic == k) for k in range(len(self.shares))]

    def quanta(self, arrival: int) -> int:
        return -(-self.arrivals[arrival][3] // FRAGMENT_BYTES)

    def work_ns(self, arrival: int) -> int:
        topic = self.flows[self.arrivals[arrival][1]][1]
        return self.quanta(arrival) * self.service_ns[topic]

    def serve(
        self, policy: str, changes: list[tuple[int, int, _core.Share]] | None = None
    ) -> _core.ServerRun:
        return _core.serve(
            policy,
            shares=self.shares,
            service_ns=self.service_ns,
            flows=self.flows,
            arrivals=self.arrivals,
            changes=changes or [],
            fragment_bytes=FRAGMENT_BYTES,
            service_first=self.service_first,
        )


def pauses(random: random.Random, scale_ns: int) -> Iterator[int]:
    """Mostly none (greedy), sometimes long enough for the server to go idle."""
    while True:
        yield random.choice([0, 0, 0, 0, 0, 1, random.randint(0, scale_ns)])


def shares(random: random.Random, topics: int) -> list[_core.Share]:
    """Shares that every policy accepts."""
    chosen = []
    for _ in range(topics):
        rate = random.randint(1, 9)
        deadline = random.choice([None, _core.TICKS // (rate * random.randint(1, 9))])
        period_ns = random.randint(10, 2_000)
        chosen.append(
            _core.Share(
                weight=random.randint(1, 9),
                rate=rate,
                virtual_deadline=deadline,
                period_ns=period_ns,
                deadline_ns=random.randint(10, 4_000),
            )
        )
    return chosen


def any_workload(seed: int, *, capacity: int | None = None) -> Workload:
    """Random flows, priorities, sizes and times; nobody has promised anything.

    A queue holds 1 to `capacity` messages, or more than ever come if that is not given.
    """
    rng = random.Random(seed)
    topics = rng.randint(1, 6)
    flows = [
        (client, topic, 65_535 if capacity is None else rng.randint(1, capacity))
        for topic in range(topics)
        for client in range(rng.randint(1, 4))
    ]
    span_ns = rng.choice([0, 100, 10_000])
    arrivals = sorted(
        (
            rng.randint(0, span_ns),
            rng.randrange(len(flows)),
            rng.choice([0, 0, 0, rng.randint(0, 7)]),
            rng.randint(4, 4 * FRAGMENT_BYTES),
        )
        for _ in range(rng.randint(1, 150))
    )
    service_ns = [rng.randint(1, 60) for _ in range(topics)]
    return Workload(shares(rng, topics), service_ns, flows, arrivals, rng.random() < 0.5)


def backlog(shares: list[_core.Share], service_ns: list[int], publishers: list[int], depth: int) -> Workload:
    """Every flow has `depth` messages waiting from the beginning."""
    flows = [(client, topic, depth) for topic, count in enumerate(publishers) for client in range(count)]
    arrivals = [(0, flow, 0, 4) for _ in range(depth) for flow in range(len(flows))]
    return Workload(shares, service_ns, flows, arrivals)
