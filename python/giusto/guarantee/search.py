"""The nearest change that would be granted: the smallest latency, or the largest rate.

Both are monotone: a longer latency or a slower publisher never breaks a promise that held before. So the
limit is found by bisection over `decide`, whatever the policy is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from giusto.errors import Nearest
from giusto.guarantee.model import Change, Supply

if TYPE_CHECKING:
    from giusto.guarantee.book import Book

LONGEST_NS = 10 * 365 * 86_400 * 1_000_000_000
"""Ten years: longer than any latency or period that means something."""


def nearest(book: Book, change: Change) -> Nearest:
    """See `Book.nearest`."""
    latency_ns = smallest_latency_ns(book, change)
    rate = largest_rate(book, change)
    return Nearest(latency_ns, *(rate or (None, None)))


def smallest_latency_ns(book: Book, change: Change) -> int | None:
    """That all demands of the change could have; None if it has none, or if others would break."""
    if not change.demands:
        return None

    def asks(max_latency_ns: int) -> bool:
        demands = tuple(replace(demand, max_latency_ns=max_latency_ns) for demand in change.demands)
        return book.decide(replace(change, demands=demands)) is None

    return least(asks, max(demand.max_latency_ns for demand in change.demands))


def largest_rate(book: Book, change: Change) -> tuple[int, int] | None:
    """That the supplies of the change, or else of the topics that it asks for, could have at most."""
    given = change.supplies or present(book, change)
    if not given:
        return None
    fastest = max(given, key=lambda supply: Fraction(supply.count, supply.period_ns))

    def offers(period_ns: int) -> bool:
        slowed = tuple(capped(supply, fastest.count, period_ns) for supply in given)
        return book.decide(with_supplies(change, given, slowed)) is None

    period_ns = least(offers, fastest.period_ns)
    return None if period_ns is None else (fastest.count, period_ns)


def present(book: Book, change: Change) -> tuple[Supply, ...]:
    """What is published on the topics that the change asks for, and stays."""
    topics = {demand.topic for demand in change.demands}
    kept = (book.records[topic] for topic in sorted(topics) if topic in book.records)
    found = (stream.supply for record in kept for stream in record.streams.values())
    return tuple(supply for supply in found if supply not in change.supplies_gone)


def capped(supply: Supply, count: int, period_ns: int) -> Supply:
    """No faster than count/period."""
    is_faster = supply.count * period_ns > count * supply.period_ns
    return replace(supply, count=count, period_ns=period_ns) if is_faster else supply


def with_supplies(change: Change, given: Sequence[Supply], slowed: tuple[Supply, ...]) -> Change:
    """The change with its supplies slowed, or with those that are there already."""
    if change.supplies:
        return replace(change, supplies=slowed)
    return replace(change, supplies=slowed, supplies_gone=(*change.supplies_gone, *given))


def least(holds: Callable[[int], bool], guess: int) -> int | None:
    """The least value for which a condition holds that holds for all larger ones; None if it has none."""
    low, high = 0, guess
    while not holds(high):
        if high >= LONGEST_NS:
            return None
        low, high = high, min(max(high * 2, high + 1_000), LONGEST_NS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
