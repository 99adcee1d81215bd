"""What a book keeps of clients and their links is what it contains: nothing else, and nothing out of date."""

from __future__ import annotations

import pytest
from bounds_simulation import seeds
from hypothesis import given
from hypothesis import strategies as st
from test_book_changes import POLICIES, draw_change, fresh, settings, whole

from giusto.guarantee.book import Book
from giusto.guarantee.links import LONGEST_NS, Carried, parties, rounded
from giusto.guarantee.model import Allotted, Change, Demand, LinkTerms, Setting, Supply

MS = 1_000_000


def kept(book: Book) -> tuple[object, ...]:
    """What the book has of clients and topics, by name."""
    links = book.links
    flows = {client: {*topics} for client, topics in book.flows.items()}
    sides = (links.into, links.out)
    carried = [{client: one.rate for client, one in side.items() if one.rate} for side in sides]
    assert all(side.keys() <= links.topics.keys() for side in sides)
    return flows, carried, dict(links.topics), {*links.times}, {*book.records}, {*book.load.readers}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_book_that_grew_by_changes_keeps_no_more_than_one_made_at_once(policy: str) -> None:
    for label, rng in seeds(10):
        book = Book(settings(policy, "load"))
        for _ in range(15):
            change = draw_change(rng, book)
            if book.decide(change) is None:
                book.commit(change)
            assert kept(book) == kept(fresh(book)), label
        everything = whole(book)
        gone = Change(
            demands_gone=everything.demands,
            supplies_gone=everything.supplies,
            released=tuple(topic.topic for topic in everything.topics),
        )
        book.commit(gone)
        assert kept(book) == kept(Book(book.setting)), label


def overfull(book: Book) -> set[str]:
    """Whose links cannot carry what was promised over them, looking at every record."""
    links, found = book.links, set()
    for record in book.records.values():
        if record.demands:
            found |= {client for client in record.streams if links.times_of(client)[0] >= LONGEST_NS}
        for demand in record.demands.values():
            if links.times_of(demand.client)[1] >= LONGEST_NS or links.is_crowded(demand.client):
                found.add(demand.client)
    return found


@pytest.mark.parametrize("bits_per_second", [10_000_000, 300_000_000])
def test_what_is_known_of_links_is_what_a_look_at_all_of_them_gives(bits_per_second: int) -> None:
    full = 0
    for label, rng in seeds(20):
        link = LinkTerms(bits_per_second=bits_per_second)
        book = Book(Setting(link_in=link, link_out=link))
        for _ in range(12):
            change = draw_change(rng, book)
            if rng.random() < 0.5:
                book.decide(change)
            else:
                book.commit(change)
            links = book.links
            everybody = {client for record in book.records.values() for client in parties(record)}
            assert links.times == {client: links.times_of(client) for client in everybody}, label
            ways = [links.times_of(client)[0] for client in book.flows]
            assert links.longest_way_ns == max(ways, default=0), label
            assert links.overfull.keys() == overfull(book), label
            full += bool(links.overfull)
    assert full


def looks(topics: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """At links, for one more demand of a client that receives all topics."""
    link = LinkTerms(bits_per_second=10_000_000_000)
    book = Book(Setting(link_in=link, link_out=link))
    names = [f"topic {number}" for number in range(topics)]
    book.commit(
        Change(
            topics=tuple(Allotted(topic=name, fanout=5) for name in names),
            supplies=tuple(
                Supply(client=f"p {name}", topic=name, count=1, period_ns=5_000 * MS) for name in names
            ),
            demands=tuple(
                Demand(key="k", client=f"reader {number}", topic=name, max_latency_ns=1_000 * MS)
                for name in names
                for number in range(5)
            ),
        )
    )
    seen, through_ns = [], Carried.through_ns
    with monkeypatch.context() as patch:
        patch.setattr(Carried, "through_ns", lambda *its: seen.append(1) or through_ns(*its))
        asked = Demand(key="x", client="reader 0", topic=names[0], max_latency_ns=MS)
        book.decide(Change(demands=(asked,)))
    return len(seen)


def test_a_decision_looks_at_as_many_links_whatever_else_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(10, monkeypatch) == looks(100, monkeypatch) < 50


@given(st.integers(0, LONGEST_NS), st.integers(0, LONGEST_NS))
def test_times_on_links_are_rounded_up_a_little_and_in_order(one_ns: int, other_ns: int) -> None:
    assert one_ns <= rounded(one_ns) <= one_ns + one_ns // 128
    assert (rounded(one_ns) <= rounded(other_ns)) or one_ns > other_ns
