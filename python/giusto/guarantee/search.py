"""The nearest change that would be granted: the smallest latency, or the largest rate.

Both are monotone: a longer latency or a slower publisher never breaks a promise that held before. Where
shares are given, the bounds do not depend on what is promised: the smallest latency is the largest bound, and
one decision confirms it. A rate, and a latency under `edf`, is found by bisection, to a part in a thousand.
Where links have a bandwidth, a longer latency is not always easier: messages that may be in the broker for
longer come closer together behind it. There a search goes upwards from what is not enough.

A client may ask again and again, and nobody else is answered meanwhile. So a search has a number of steps, of
about ten microseconds each; when they are used up, what has been found so far is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from giusto.errors import Nearest, Overload
from giusto.guarantee.model import Change, Supply

if TYPE_CHECKING:
    from giusto.guarantee.book import Book

LONGEST_NS = 10 * 365 * 86_400 * 1_000_000_000
"""Ten years: longer than any latency or period that means something."""
LONGEST_LINKED_NS = 60 * 1_000_000_000
"""The longest latency that is tried where links have a bandwidth."""

STEPS = 4_000
"""Of one search."""
STEPS_ALWAYS = 10
STEPS_PER_TOPIC = 4
STEPS_PER_FLOW = 2
STEPS_PER_LINKED = 10
"""What a decision takes at least, for each topic and flow that it is about, and for others on their links."""
PRECISION = 1 << 10
SIZE_PRECISION = 1 << 6


class Exhausted(Exception):
    """All steps are used up."""


class Search:
    """For what could be granted instead of a change; `is_complete` unless it had too few steps."""

    def __init__(self, book: Book, change: Change, steps: int = STEPS) -> None:
        self.book = book
        self.change = change
        self.left = steps
        self.is_complete = True

    def nearest(self) -> Nearest:
        """See `Book.nearest`; a latency may take half of the steps."""
        steps = self.left
        self.left = steps // 2
        latency_ns = self.smallest_latency_ns()
        self.left += steps - steps // 2
        rate = self.largest_rate()
        if rate is None:
            return Nearest(latency_ns)
        faster = {one.client for one in self.given if one != capped(one, *rate)}
        return Nearest(latency_ns, *rate, publishers=tuple(sorted(faster)))

    def holds(self, change: Change) -> bool:
        """Whether it would be granted."""
        self.take(change)
        is_granted = self.book.decide(change) is None
        self.take_linked()
        return is_granted

    def take(self, change: Change) -> None:
        """The steps that looking at a change takes."""
        self.left -= effort(self.book, change)
        if self.left < 0:
            self.left = 0
            raise Exhausted

    def take_linked(self) -> None:
        """The steps that topics took whose links were others for a while: what was tried last says which."""
        if self.book.links.is_limited:
            self.left = max(0, self.left - STEPS_PER_LINKED * len(self.book.touched))

    def smallest_latency_ns(self) -> int | None:
        """That all that the change asks for could have; None if it asks nothing, or if others would break."""
        if not self.change.wishes:
            return None
        is_limited = self.book.links.is_limited
        # Under `edf` a bound depends on what is promised, and where a link has a bandwidth too.
        if self.book.stage.has_given_shares:
            return self.settled_latency_ns() if is_limited else self.confirmed_latency_ns()
        delay = self.book.load.delay(self.book.rest)
        asked_ns = max(demand.max_latency_ns for demand in self.change.wishes)
        low_ns = max(asked_ns, delay.unread_ns) if delay else asked_ns
        search = self.first if is_limited else self.least
        return search(lambda ns: self.holds(self.asking(ns)), low_ns)

    def confirmed_latency_ns(self) -> int | None:
        """The largest bound, if it can be promised."""
        try:
            self.take(self.change)
            needed_ns = self.needed_ns(LONGEST_NS)
            is_granted = needed_ns is not None and self.holds(self.asking(needed_ns))
        except Exhausted:
            self.is_complete = False
            return None
        return needed_ns if is_granted else None

    def settled_latency_ns(self) -> int | None:
        """The same where bounds grow with what is asked: what is needed is asked for, until it is enough.

        No latency below any of these is enough; the last is too long by a part in a thousand at most.
        """
        asked_ns, needed_ns = 0, 1
        try:
            while needed_ns > asked_ns:
                asked_ns = needed_ns + needed_ns // PRECISION
                self.take(self.change)
                found_ns = self.needed_ns(asked_ns)
                if found_ns is None:
                    return None
                needed_ns = found_ns
                self.take_linked()
            return asked_ns if self.holds(self.asking(asked_ns)) else None
        except Exhausted:
            self.is_complete = False
            return None

    def needed_ns(self, asked_ns: int) -> int | None:
        """The largest bound on the topics that the change asks for, if it asks for so much.

        None if one of their flows has no bound.
        """
        topics = {demand.topic for demand in self.change.wishes}
        try:
            with self.book.tried(self.asking(asked_ns)):
                found = self.book.worst_flow(topics)
        except Overload:
            return None
        needed_ns = 1 if found is None else max(1, found.total_ns)
        return needed_ns if needed_ns <= LONGEST_NS else None

    def asking(self, max_latency_ns: int) -> Change:
        """The change with another latency."""
        wishes = {*self.change.wishes}
        demands = tuple(
            replace(demand, max_latency_ns=max_latency_ns) if demand in wishes else demand
            for demand in self.change.demands
        )
        return replace(self.change, demands=demands)

    def largest_rate(self) -> tuple[int, int] | None:
        """That the supplies of the change, or else of the topics that it asks for, could have at most."""
        if effort(self.book, self.change) > self.left:
            self.is_complete = False
            return None
        given = self.given
        if not given:
            return None
        fastest = max(given, key=lambda supply: Fraction(supply.count, supply.period_ns))

        def offers(period_ns: int) -> bool:
            slowed = tuple(capped(supply, fastest.count, period_ns) for supply in given)
            return self.holds(with_supplies(self.change, given, slowed))

        period_ns = self.least(offers, fastest.period_ns)
        return None if period_ns is None else (fastest.count, period_ns)

    def largest_size_bytes(self) -> int | None:
        """That the messages of the same supplies could have at most; too small by a part in 64, or less."""
        given = self.given
        low, high = 0, max((supply.size_bytes for supply in given), default=0)
        try:
            while high - low > max(1, low // SIZE_PRECISION):
                middle = (low + high) // 2
                smaller = tuple(
                    replace(supply, size_bytes=min(supply.size_bytes, middle)) for supply in given
                )
                holds = self.holds(with_supplies(self.change, given, smaller))
                low, high = (middle, high) if holds else (low, middle)
        except Exhausted:
            self.is_complete = self.is_complete and low > 0
        return low or None

    @property
    def given(self) -> tuple[Supply, ...]:
        """The flows that could be slower or smaller."""
        return self.change.supplies or self.present()

    def present(self) -> tuple[Supply, ...]:
        """What is published on the topics that the change asks for, and stays."""
        topics = {demand.topic for demand in self.change.demands}
        records, gone = self.book.records, {*self.change.supplies_gone}
        kept = (records[topic] for topic in sorted(topics) if topic in records)
        found = (stream.supply for record in kept for stream in record.streams.values())
        return tuple(supply for supply in found if supply not in gone)

    def least(self, holds: Callable[[int], bool], low: int) -> int | None:
        """The least value above `low` for which a condition holds that holds for all larger ones.

        None if there is none. What is returned holds: it is too large by a part in a thousand at most, or by
        more if there were few steps.
        """
        high = LONGEST_NS
        try:
            if not holds(high):
                return None
            factor = 4
            while high == LONGEST_NS and low * factor < LONGEST_NS:
                middle = low * factor
                low, high = (low, middle) if holds(middle) else (middle, high)
                factor *= factor
        except Exhausted:
            self.is_complete = self.is_complete and high < LONGEST_NS
        else:
            high = self.narrowed(holds, low, high)
        return high if high < LONGEST_NS else None

    def first(self, holds: Callable[[int], bool], low: int) -> int | None:
        """The same for a condition that need not hold for all larger ones: upwards, by doubling."""
        high = 2 * low
        try:
            while not holds(high):
                low, high = high, 2 * high
                if high > LONGEST_LINKED_NS:
                    return None
        except Exhausted:
            self.is_complete = False
            return None
        return self.narrowed(holds, low, high)

    def narrowed(self, holds: Callable[[int], bool], low: int, high: int) -> int:
        """A value for which the condition holds, as it does for `high`, near one for which it does not."""
        try:
            while high - low > max(1, high // PRECISION):
                middle = isqrt(low * high) if high > 2 * low + 2 else (low + high) // 2
                low, high = (low, middle) if holds(middle) else (middle, high)
        except Exhausted:
            self.is_complete = self.is_complete and high < LONGEST_NS
        return high


def effort(book: Book, change: Change) -> int:
    """How many steps a decision takes, about."""
    topics = {one.topic for part in (change.demands, change.topics, change.supplies) for one in part}
    flows = sum(len(book.records[topic].streams) for topic in topics if topic in book.records)
    mine = STEPS_PER_TOPIC * len(topics) + STEPS_PER_FLOW * (flows + len(change.supplies))
    return STEPS_ALWAYS + mine + book.stage.effort


def capped(supply: Supply, count: int, period_ns: int) -> Supply:
    """No faster than count/period."""
    is_faster = supply.count * period_ns > count * supply.period_ns
    return replace(supply, count=count, period_ns=period_ns) if is_faster else supply


def with_supplies(change: Change, given: Sequence[Supply], slowed: tuple[Supply, ...]) -> Change:
    """The change with its supplies slowed, or with those that are there already."""
    if change.supplies:
        return replace(change, supplies=slowed)
    return replace(change, supplies=slowed, supplies_gone=(*change.supplies_gone, *given))
