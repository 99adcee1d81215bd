"""What giusto should reach beside its peers, and whether it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.peers.rounds import Rounds, Spread

PEERS = ("nats", "nats-new", "redis", "mosquitto")
UNMEASURED = "not measured"
CALLBACK, ASYNC = "giusto, callback", "giusto, async for"


@dataclass(frozen=True, slots=True)
class Aim:
    """A figure that should be at least or at most `limit`."""

    title: str
    limit: float
    measured: Callable[[Rounds], Spread | None]
    at_most: bool = True
    unit: str = "×"

    def reached(self, found: Spread) -> bool:
        return found.middle <= self.limit if self.at_most else found.middle >= self.limit

    def row(self, rounds: Rounds) -> list[str]:
        """A line of the table of aims."""
        found = self.measured(rounds)
        wanted = f"{'≤' if self.at_most else '≥'} {self.limit:g} {self.unit}"
        if found is None:
            return [self.title, wanted, UNMEASURED, ""]
        said = f"{found.middle:.3g} ({found.low:.3g}–{found.high:.3g})"
        return [self.title, wanted, said, "yes" if self.reached(found) else "**no**"]


def to(measure: str, name: str, peer: str, under: str | None = None) -> Callable[[Rounds], Spread | None]:
    """giusto over a peer, in the same figure unless another is named."""
    return lambda rounds: rounds.ratio((measure, "giusto", name), (measure, peer, under or name))


def to_best(measure: str, name: str) -> Callable[[Rounds], Spread | None]:
    """giusto over the best of the brokers."""

    def ratio(rounds: Rounds) -> Spread | None:
        best = rounds.best(measure, name, PEERS)
        return None if best is None else to(measure, name, best)(rounds)

    return ratio


def figure(measure: str, name: str) -> Callable[[Rounds], Spread | None]:
    """A figure of giusto itself."""
    return lambda rounds: rounds.spread(measure, "giusto", name)


def latency_aims(measure: str, title: str) -> list[Aim]:
    return [
        Aim(f"delay at {title}: p50 against the bare relay", 1.15, to(measure, "p50_us", "relay")),
        Aim(f"delay at {title}: p95 against the bare relay", 1.3, to(measure, "p95_us", "relay")),
        Aim(f"delay at {title}: p50 against the best broker", 1.0, to_best(measure, "p50_us")),
    ]


AIMS = [
    Aim("throughput against NATS (Debian)", 2.0, to("throughput", "rate", "nats"), at_most=False),
    Aim("throughput against NATS (newest)", 2.0, to("throughput", "rate", "nats-new"), at_most=False),
    Aim("throughput against the bare relay", 0.4, to("throughput", "rate", "relay"), at_most=False),
    *latency_aims("latency-250", "250/s"),
    *latency_aims("latency-5000", "5,000/s"),
    Aim("beside a flood: p50 against without it", 1.2,
        to("flood", "beside_p50_us", "giusto", "alone_p50_us")),
    Aim("beside a flood: p95 against without it", 1.2,
        to("flood", "beside_p95_us", "giusto", "alone_p95_us")),
    Aim("beside a flood: p95 against the best broker", 0.5, to_best("flood", "beside_p95_us")),
    Aim("beside a flood: messages of the topic that were lost", 0, figure("flood", "lost"), unit="messages"),
    Aim("beside a flood: p99 within the broker against the bound of a turn", 1.0, lambda rounds: rounds.ratio(
        ("flood", "giusto", "inside_p99_us"), ("throughput", "giusto", "turn_us"))),
    Aim("a subscriber stops: p95 of the others against before", 1.05,
        to("stalled", "stalled_p95_us", "giusto", "reading_p95_us")),
    Aim("Python to Python against zenoh", 2.0, lambda rounds: rounds.ratio(
        ("python", CALLBACK, "rate"), ("python", "zenoh, peer to peer", "rate")), at_most=False),
    Aim("Python: `async for` against callbacks", 0.9, lambda rounds: rounds.ratio(
        ("python", ASYNC, "rate"), ("python", CALLBACK, "rate")), at_most=False),
    Aim("10,000 topics, 1,000 connections: idle memory", 100, figure("many", "idle_mb"), unit="MB"),
    Aim("10,000 topics, 1,000 connections: throughput against one topic", 0.7, lambda rounds: rounds.ratio(
        ("many", "giusto", "rate"), ("throughput", "giusto", "rate")), at_most=False),
]  # fmt: skip
