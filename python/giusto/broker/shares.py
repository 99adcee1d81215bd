"""Which shares follow from the promises on topics, and that the data plane has them: under `edf` alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from giusto.broker.draft import Draft
from giusto.broker.mishap import survived
from giusto.broker.plane import Plane
from giusto.broker.registry import Registry
from giusto.config.broker import share_of
from giusto.guarantee.book import Book
from giusto.guarantee.model import Change
from giusto.protocol import ShareTerms


@contextmanager
def shares_set(plane: Plane, registry: Registry, book: Book, draft: Draft, change: Change) -> Iterator[None]:
    """From now on topics have what a change makes of their shares; if the block raises, what they had."""
    wanted = _wanted(book, draft, change)
    before = {
        name: book.wanted(name) or registry.topics[name].share for name in wanted if name in registry.topics
    }
    try:
        _set(plane, registry, wanted)
        yield
    except BaseException:
        with survived("giving topics the shares that they had"):
            _set(plane, registry, before)
        raise


def _wanted(book: Book, draft: Draft, change: Change) -> dict[str, ShareTerms]:
    if book.setting.input != "edf":
        return {}
    flows = (*draft.holdings.values(), *draft.ended)
    about = {held.topic for held in flows} | {*draft.topics}
    about |= {topic for _, topic in (*draft.demands, *draft.demands_gone)}
    now = {name: book.wanted(name) for name in about.difference(draft.released)}
    wanted = {name: share for name, share in now.items() if share is not None}
    return wanted | {one.topic: one.share for one in book.shares(change)}


def _set(plane: Plane, registry: Registry, shares: Mapping[str, ShareTerms]) -> None:
    for name, share in shares.items():
        topic = registry.topics.get(name)
        if topic is not None:
            plane.allot(topic.number, share_of(share))
