"""A book keeps nothing of who has gone, or was refused: it is as large as what it contains."""

from __future__ import annotations

import pytest
from bounds_simulation import seeds
from test_book_changes import POLICIES, draw_change, fresh, settings, whole

from giusto.guarantee.book import Book
from giusto.guarantee.model import Change


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
