"""What a flow is to the analysis: its burst, its rate, its quanta and what its messages cost.

All of it follows from the supply and from who gets the message. The burst is what the policer lets through,
tolerance included: others have to reckon with it, and a message that was not policed is covered by its bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from giusto.contract.offer import HEADER_BYTES
from giusto.errors import InvalidInput
from giusto.guarantee.fixed import ceil_div, parts
from giusto.guarantee.model import Setting, Supply

CREDIT_BYTES = 64
"""A frame that gives a publisher its credit back; a quantum may bring one."""

READ_BYTES = 16_384
"""What is read from one socket at once, at most."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A supply on a topic; times in ns, loads in parts of ONE.

    `passed` is σ·period: the n-th message of a backlog arrives at least (n·period - passed)/count after the
    first. Only the last of a message's quanta forwards it: `serve_ns` is that one, `fragment_ns` each of the
    others. `links` are the times on the links in and out, which the module of that name knows.
    """

    supply: Supply
    passed: int
    quanta: int
    take_ns: int
    serve_ns: int
    fragment_ns: int
    links: tuple[int, int]

    @classmethod
    def of(cls, supply: Supply, setting: Setting, audience: tuple[int, int, int]) -> Stream:
        """The numbers of a checked supply; see `Allotted.audience`."""
        reads = 1 + (supply.size_bytes + HEADER_BYTES) // READ_BYTES
        costs = setting.costs
        return cls(
            supply,
            supply.burst * supply.period_ns + supply.jitter_ns * supply.count,
            max(1, ceil_div(supply.size_bytes, setting.fragment_bytes)),
            costs.take_ns(supply.size_bytes) + reads * costs.turn_ns,
            costs.serve_ns(supply.size_bytes, *audience) + costs.write.ns(CREDIT_BYTES) + costs.turn_ns,
            costs.step.ns(supply.size_bytes) + costs.turn_ns,
            (setting.link_in.delay_ns, setting.link_out.delay_ns),
        )

    @property
    def links_ns(self) -> int:
        """From the publisher to the broker, and from there to whoever is farthest of those with a promise."""
        return sum(self.links)

    @property
    def first(self) -> int:
        """⌊σ⌋: messages before that one arrive with it and leave before it."""
        return self.passed // self.supply.period_ns

    @property
    def burst_max(self) -> int:
        """σ, rounded up as the data plane does: whole messages for the burst, and for the jitter."""
        return self.supply.burst + ceil_div(self.supply.jitter_ns * self.supply.count, self.supply.period_ns)

    def arrival_ns(self, n: int) -> int:
        """((n-σ)/ρ)^+, rounded down."""
        return max(0, n * self.supply.period_ns - self.passed) // self.supply.count

    def passed_ns(self, span_ns: int) -> int:
        """Service of the most that the policer lets through in a span of time."""
        messages = (self.passed + span_ns * self.supply.count) // self.supply.period_ns
        return messages * self.message_ns

    @property
    def message_ns(self) -> int:
        """All quanta of a message."""
        return (self.quanta - 1) * self.fragment_ns + self.serve_ns

    @property
    def quantum_ns(self) -> int:
        """The part of each quantum in that: N of them take at most N of these and one lump."""
        return ceil_div(self.message_ns, self.quanta)

    @property
    def lump_ns(self) -> int:
        """⌈N/F⌉ of N quanta are the last of a message, which is at most (F-1)/F more than N/F."""
        return ceil_div((self.serve_ns - self.fragment_ns) * (self.quanta - 1), self.quanta)

    @property
    def frame_bytes(self) -> int:
        """Longest frame."""
        return self.supply.size_bytes + HEADER_BYTES

    @property
    def unread_bytes(self) -> int:
        """Bytes of one burst, rounded up."""
        return ceil_div(self.passed * self.frame_bytes, self.supply.period_ns)

    @property
    def byte_rate(self) -> int:
        """Bytes per ns, in parts of ONE."""
        return parts(self.supply.count * self.frame_bytes, self.supply.period_ns)

    @property
    def take_burst_ns(self) -> int:
        """Reading one burst."""
        return ceil_div(self.passed * self.take_ns, self.supply.period_ns)

    @property
    def take_load(self) -> int:
        """The part of the time that reading it takes."""
        return parts(self.supply.count * self.take_ns, self.supply.period_ns)

    @property
    def serve_load(self) -> int:
        """The part of the time that serving it takes."""
        return parts(self.supply.count * self.message_ns, self.supply.period_ns)


LIMITS = (("count", 1), ("period_ns", 1), ("burst", 1), ("jitter_ns", 0), ("size_bytes", 0))


def check(supply: Supply) -> None:
    """Whole numbers that mean something."""
    for name, least in LIMITS:
        require_whole(f"supply.{name}", getattr(supply, name), least)


def require_whole(field: str, value: object, least: int) -> None:
    """An integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(field, value, f"a whole number of at least {least}")
