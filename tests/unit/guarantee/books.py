"""Short ways to fill a book."""

from __future__ import annotations

from functools import partial

from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs, Line
from giusto.guarantee.model import Allotted, Change, Demand, Setting, Supply
from giusto.protocol import ShareTerms

MS = 1_000_000

SWIFT = Costs(
    take=Line(6_000, 1_000),
    step=Line(1_500),
    deliver=Line(400),
    write=Line(12_000, 1_000),
    frame_ns=300,
    turn_ns=5_000,
    call_ns=200_000,
    serve=None,
    serve_each=None,
)
"""A machine without a past: what is written down here does not move when the default costs do."""

setting = partial(Setting, costs=SWIFT)


def supply(client: str, topic: str, period_ns: int = 10 * MS, **fields: int) -> Supply:
    """One message of 256 bytes per period, unless said otherwise."""
    given = {"count": 1, "size_bytes": 256, **fields}
    return Supply(client=client, topic=topic, period_ns=period_ns, **given)


def demand(topic: str, max_latency_ns: int = 5 * MS, client: str = "reader") -> Demand:
    """A need for a latency."""
    return Demand(key=f"{client} {topic}", client=client, topic=topic, max_latency_ns=max_latency_ns)


def contract(
    topic: str, *supplies: Supply, max_latency_ns: int = 5 * MS, fanout: int = 1, weight: int | None = None
) -> Change:
    """A guarded topic with its publishers and one demand."""
    allotted = Allotted(topic=topic, fanout=fanout, share=ShareTerms(weight=weight))
    return Change(topics=(allotted,), supplies=supplies, demands=(demand(topic, max_latency_ns),))


def grant(book: Book, change: Change) -> None:
    """Decide and commit."""
    objection = book.decide(change)
    assert objection is None, objection
    book.commit(change)
