"""Which shares follow from the promises on topics, and that the data plane has them: under `edf` alone."""

from __future__ import annotations

from collections.abc import Iterable

from giusto.broker.plane import Plane
from giusto.broker.registry import Registry
from giusto.config.broker import share_of
from giusto.guarantee.book import Book


def set_shares(plane: Plane, registry: Registry, book: Book, topics: Iterable[str]) -> None:
    """Allot to each of the topics what its promises want, as the book has them now."""
    for name in topics:
        topic, wanted = registry.topics.get(name), book.wanted(name)
        if topic is not None and wanted is not None:
            plane.allot(topic.number, share_of(wanted))
