"""Under `edf` a book finds the deadlines itself, and says which the data plane has to be told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from books import MS, contract, demand, grant, setting, supply

from giusto.errors import InvalidInput
from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs, Line
from giusto.guarantee.model import Allotted, Change, LinkTerms
from giusto.protocol import ShareTerms


@pytest.fixture
def book() -> Book:
    return Book(setting(input="edf"))


def test_the_deadline_is_what_the_tightest_promise_leaves(book: Book) -> None:
    change = contract("alarm", supply("pump", "alarm"), max_latency_ns=5 * MS)
    (wanted,) = book.shares(change)
    assert (wanted.topic, wanted.share.period_ns, wanted.share.deadline_ns) == ("alarm", 1, 5 * MS)
    grant(book, change)
    (tighter,) = book.shares(Change(demands=(demand("alarm", 3 * MS, "second"),)))
    assert tighter.share.deadline_ns == 3 * MS


def test_the_links_come_off_the_deadline() -> None:
    book = Book(setting(input="edf", link_in=LinkTerms(delay_ns=MS), link_out=LinkTerms(delay_ns=MS)))
    (wanted,) = book.shares(contract("alarm", supply("pump", "alarm"), max_latency_ns=5 * MS))
    assert wanted.share.deadline_ns == 3 * MS


def test_what_does_not_change_need_not_be_told(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    assert book.shares(Change(demands=(demand("alarm", 9 * MS, "second"),))) == ()
    assert book.shares(contract("video", supply("camera", "video")))[0].topic == "video"


def test_other_policies_have_their_shares_set() -> None:
    assert Book(setting(input="fair")).shares(contract("alarm", supply("pump", "alarm"))) == ()


def test_a_deadline_that_is_set_counts_as_it_is(book: Book) -> None:
    share = ShareTerms(period_ns=5 * MS, deadline_ns=2 * MS)
    change = replace(
        contract("alarm", supply("pump", "alarm")), topics=(Allotted(topic="alarm", share=share),)
    )
    assert book.shares(change)[0].share == share
    grant(book, change)
    assert book.bound("pump", "alarm").total_ns <= 2 * MS
    late = ShareTerms(deadline_ns=6 * MS)
    objection = book.decide(Change(topics=(Allotted(topic="alarm", share=late),)))
    assert objection is not None
    assert objection.why == "latency"


def test_tags_that_are_set_farther_apart_than_the_messages_are_an_overload(book: Book) -> None:
    share = ShareTerms(period_ns=11 * MS)
    objection = book.decide(
        replace(contract("alarm", supply("pump", "alarm")), topics=(Allotted(topic="alarm", share=share),))
    )
    assert objection is not None
    assert objection.why == "overload"


@pytest.mark.parametrize("field", ["period_ns", "deadline_ns"])
def test_a_share_that_means_nothing_is_refused(book: Book, field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        book.decide(Change(topics=(Allotted(topic="alarm", share=ShareTerms(**{field: 0})),)))


def test_urgent_topics_are_admitted_that_no_fixed_share_could_admit() -> None:
    """Ten topics with long promises do not delay one with a short promise, as they do under `twrr`."""
    costs = Costs(
        step=Line(100_000),
        take=Line(1_000),
        write=Line(1_000),
        call_ns=1_000,
        turn_ns=1_000,
        serve=None,
        serve_each=None,
    )
    for policy, holds in (("edf", True), ("twrr", False)):
        book = Book(setting(input=policy, costs=costs, turn_steps=1))
        for i in range(10):
            grant(book, contract(f"log {i}", supply(f"client {i}", f"log {i}"), max_latency_ns=100 * MS))
        urgent = contract("alarm", supply("pump", "alarm"), max_latency_ns=MS)
        assert (book.decide(urgent) is None) == holds


def test_a_topic_with_a_deadline_but_without_a_promise_is_behind_all_others(book: Book) -> None:
    share = ShareTerms(period_ns=1_000, deadline_ns=1_000)
    flood = Change(topics=(Allotted(topic="a", share=share),), supplies=(supply("x", "a", burst=800),))
    (wanted,) = book.shares(flood)
    assert wanted.share.deadline_ns is not None
    assert wanted.share.deadline_ns > 10**15
    grant(book, flood)
    (promised,) = book.shares(Change(demands=(demand("a", 500 * MS),)))
    assert promised.share.deadline_ns == 1_000
