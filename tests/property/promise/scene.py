"""What one case consists of: a bus under contract, who keeps an offer and who does not, what is beside it."""

from __future__ import annotations

from dataclasses import dataclass

from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Change, Setting, Supply
from giusto.protocol import ShareTerms

HEADER_BYTES = 56
PORTION_BYTES = range(1_024, 16_384 + 1)
READ_BYTES = 16_384
WRITE_BYTES = 65_536
PROBATION_NS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A flow as its publisher sees it: `jitter_ns` is its own, without the tolerance of the broker."""

    supply: Supply
    jitter_ns: int

    @property
    def key(self) -> tuple[str, str]:
        return self.supply.client, self.supply.topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """Traffic without a contract: clients that always have something to send, and who gets it."""

    publishers: int = 0
    subscribers: int = 0
    size_bytes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that a run needs but the arrivals.

    A violator sends more than it offered. A pusher uses the tolerance that the broker has for waiting in
    sockets: it is promised nothing either, but is not always policed: others meet more of its messages.
    In a `trusting` scene nobody does either, and the policer is so lenient that admission need not count on
    it: the bounds are as tight as they can be.
    """

    setting: Setting
    topics: tuple[Allotted, ...]
    flows: tuple[Flow, ...]
    subscribers: dict[str, tuple[str, ...]]
    flood: Flood
    violators: frozenset[str]
    pushers: frozenset[str]
    trusting: bool
    change: Change

    @property
    def supplies(self) -> tuple[Supply, ...]:
        return tuple(flow.supply for flow in self.flows)

    @property
    def publishers(self) -> tuple[str, ...]:
        return tuple(sorted({flow.supply.client for flow in self.flows}))

    @property
    def honest(self) -> tuple[tuple[str, str], ...]:
        """The flows that something is promised to."""
        others = self.violators | self.pushers
        return tuple(flow.key for flow in self.flows if flow.supply.client not in others)

    def portion_bytes(self, client: str) -> int:
        """How much of a client's socket one turn reads."""
        wanted = sum(
            (one.burst - -one.jitter_ns * one.count // one.period_ns + 1) * (one.size_bytes + HEADER_BYTES)
            for one in self.supplies
            if one.client == client
        )
        return min(max(wanted, PORTION_BYTES[0]), PORTION_BYTES[-1])

    def admitted(self) -> Book:
        """A book with the whole scene in it; no links are in its bounds."""
        book = Book(self.setting)
        book.commit(self.change)
        return book

    def bounds(self) -> dict[tuple[str, str], int]:
        """What the book says of each flow."""
        book = self.admitted()
        return {flow.key: book.bound(*flow.key).total_ns for flow in self.flows}

    def shares(self) -> dict[str, ShareTerms]:
        """What the data plane is told: what is allotted, or what follows from the promises."""
        book = self.admitted()
        return {one.topic: book.wanted(one.topic) or one.share for one in self.topics}
