"""Guarded traffic as admission sees it, and what every topic asks of the input stage then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from giusto.guarantee.blocking import Delay
from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Bound, Change, Objection, Setting
from giusto.guarantee.objections import Case
from giusto.guarantee.record import Record
from giusto.guarantee.stream import Stream
from giusto.planning.search.lanes import Lane, Nothing, sharpest
from giusto.planning.traffic import Traffic
from giusto.protocol import ShareTerms

Shares = Mapping[str, ShareTerms]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Shares by topic under which everything holds; `claim` says what is proved about them."""

    shares: Shares
    claim: str


def change_of(traffic: Traffic, shares: Shares) -> Change:
    """All of the traffic as one change of an empty book, topics in the order in which they are written."""
    topics = tuple(
        Allotted(
            topic=topic,
            share=shares.get(topic, ShareTerms()),
            fanout=fanout,
            place=place,
            subscriptions=traffic.subscriptions[topic],
            receivers=traffic.receivers[topic],
        )
        for place, (topic, fanout) in enumerate(traffic.fanout.items())
    )
    return Change(supplies=traffic.supplies, demands=traffic.demands, topics=topics, rest=traffic.rest)


def filled(traffic: Traffic, setting: Setting, shares: Shares) -> Book:
    """A book with the traffic in it, whether it holds or not."""
    book = Book(setting)
    book.commit(change_of(traffic, shares))
    return book


def worst(book: Book, topic: str) -> Bound | None:
    """As `Book.worst` of one topic, where flows that are alike are looked at once."""
    streams = book.records[topic].streams.values()
    alike = {
        (replace(stream.supply, client=""), book.delay_of(stream.supply.client)): stream.supply.client
        for stream in streams
    }
    bounds = (book.bound(client, topic) for client in alike.values())
    return max(bounds, key=lambda bound: bound.total_ns, default=None)


@dataclass(frozen=True)
class Problem:
    """Traffic for which shares are wanted; a topic keeps what it is `given`."""

    traffic: Traffic
    setting: Setting
    given: Shares

    @cached_property
    def book(self) -> Book:
        """With the shares that are given, and default ones."""
        return filled(self.traffic, self.setting, self.given)

    @property
    def records(self) -> Iterator[Record]:
        """The guarded topics, in order."""
        return (self.book.records[topic] for topic in self.traffic.fanout)

    @property
    def is_timed(self) -> bool:
        """Whether the broker serves at fixed times: then lines stand for windows, and proofs need care."""
        return self.setting.budget_ns > 0

    def objection(self, shares: Shares) -> Objection | None:
        """What admission has against these shares: as `Book.decide`, of a book that is not needed again."""
        change = change_of(self.traffic, shares)
        book = Book(self.setting)
        book.commit(change)
        return Case(book, change).objection()

    @cached_property
    def delays(self) -> dict[str, Delay]:
        """What the messages of each client wait for; without those that may wait for ever."""
        found = ((client, self.book.delay_of(client)) for client in self.book.load.readers)
        return {client: delay for client, delay in found if delay is not None}

    def hopeless(self) -> Nothing | None:
        """What no shares can mend: reading, and the time in which it happens."""
        if len(self.delays) == len(self.book.load.readers):
            return None
        objection = self.objection(self.given)
        if objection is None:
            return Nothing(True, "reading takes all of the time", why="overload")
        return refusal(objection, proved=True)

    def lane(self, record: Record, stream: Stream, *, hopeful: bool = False) -> Lane:
        """A flow. In windows the line above the time decides, or, if `hopeful`, the one below."""
        supply = stream.supply
        promise_ns = record.promise_ns or 0
        return laned(
            self.delays[supply.client],
            Lane(
                count=supply.count,
                period_ns=supply.period_ns,
                lag=stream.passed,
                fragments=stream.quanta,
                budget_ns=promise_ns - stream.links_ns,
            ),
            hopeful=hopeful,
        )

    def lanes(self, record: Record, *, hopeful: bool = False) -> tuple[Lane, ...]:
        """One for each flow of a topic on which something was promised."""
        if record.promise_ns is None:
            return ()
        return sharpest(self.lane(record, stream, hopeful=hopeful) for stream in record.streams.values())


def refusal(objection: Objection, *, proved: bool) -> Nothing:
    """What admission says, as the end of a search."""
    return Nothing(proved, objection.sentence, objection.topic, objection.why, objection.bound_ns)


def laned(delay: Delay, lane: Lane, *, hopeful: bool) -> Lane:
    """The lane with what its broker does beside serving; a window that is just missed is a window of work."""
    left, whole = delay.pace.left
    missed_ns = 0 if hopeful else delay.pace.window_ns
    return lane._replace(
        budget_ns=lane.budget_ns - delay.exit_ns,
        left=left,
        whole=whole,
        less_ns=delay.before_ns + missed_ns,
    )
