"""The nearest that a book names is what a search through all latencies and rates would find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from bounds_simulation import seeds
from test_book_changes import HOP, MODES, POLICIES, asking, draw_change, settings

from giusto.errors import Nearest
from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Change, Demand, Setting, Supply
from giusto.guarantee.search import LONGEST_NS, Search, effort
from giusto.protocol import ShareTerms

MS = 1_000_000


def plain_least(holds: Callable[[int], bool]) -> int | None:
    """Bisection over everything."""
    if not holds(LONGEST_NS):
        return None
    low, high = 0, LONGEST_NS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def slowed(book: Book, change: Change, period_ns: int) -> Change:
    """All flows that the change is about, no faster than one message, or so many as they had, per period."""
    topics = {demand.topic for demand in change.demands}
    there = tuple(supply for supply in book.supplies if supply.topic in topics)
    given = change.supplies or there
    count = max(given, key=lambda supply: supply.count / supply.period_ns).count
    capped = tuple(
        replace(supply, count=count, period_ns=period_ns)
        if supply.count * period_ns > count * supply.period_ns
        else supply
        for supply in given
    )
    return replace(change, supplies=capped, supplies_gone=() if change.supplies else there)


def is_near(found: int | None, least: int | None) -> bool:
    """Never less, and at most a part in a thousand more."""
    if found is None or least is None:
        return found is least
    return least <= found <= least + max(1, least // 1_000)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_nearest_is_what_bisection_over_all_values_finds(policy: str, mode: str) -> None:
    compared = 0
    for label, rng in seeds(30):
        # A latency that is asked for lengthens a link with a bandwidth: there the nearest is not exact.
        book = Book(replace(settings(policy, mode), link_in=HOP, link_out=HOP))
        for _ in range(10):
            change = draw_change(rng, book)
            if book.decide(change) is None:
                book.commit(change)
                continue
            found = book.nearest(change)
            if change.demands:
                least_ns = plain_least(lambda ns: book.decide(asking(change, ns)) is None)  # noqa: B023
                exact = policy != "edf"
                assert found.max_latency_ns == least_ns if exact else is_near(found.max_latency_ns, least_ns)
                compared += 1
            if change.supplies:
                least_ns = plain_least(lambda ns: book.decide(slowed(book, change, ns)) is None)  # noqa: B023
                assert is_near(found.period_ns, least_ns), label
    assert compared


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_found_with_few_steps_is_granted_too(policy: str) -> None:
    short = 0
    for label, rng in seeds(12):
        book = Book(settings(policy, "load"))
        for _ in range(10):
            change = draw_change(rng, book)
            if book.decide(change) is None:
                book.commit(change)
                continue
            search = Search(book, change, rng.choice([0, 1, 3, 8, 20]) * effort(book, change))
            found = search.nearest()
            short += not search.is_complete
            if found.max_latency_ns is not None:
                assert book.decide(asking(change, found.max_latency_ns)) is None, label
            if found.period_ns is not None:
                assert book.decide(slowed(book, change, found.period_ns)) is None, label
    assert short


@pytest.mark.parametrize("policy", POLICIES)
def test_a_refused_need_on_very_many_flows_is_not_searched_for_long(policy: str) -> None:
    book = Book(Setting(input=policy))
    names = [f"topic {number}" for number in range(900)]
    supplies = tuple(Supply(client=name, topic=name, count=1, period_ns=1_000_000 * MS) for name in names)
    book.commit(
        Change(topics=tuple(Allotted(topic=name, share=ShareTerms()) for name in names), supplies=supplies)
    )
    asked = tuple(Demand(key="k", client="reader", topic=name, max_latency_ns=1) for name in names)
    search = Search(book, Change(demands=asked))
    decided = 0

    def decide(change: Change, plain: Callable[[Change], object] = book.decide) -> object:
        nonlocal decided
        decided += 1
        return plain(change)

    book.decide = decide  # type: ignore[method-assign, assignment]
    assert search.nearest() == Nearest()
    assert not search.is_complete
    assert decided <= 1
