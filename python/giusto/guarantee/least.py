"""The least latency that a broker can promise to anybody: what it takes when there is nothing else at all.

Whoever is promised less could never be served. Nobody would be admitted as a publisher on his topics.
"""

from __future__ import annotations

from functools import lru_cache

from giusto.errors import milliseconds
from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Change, Demand, Setting, Supply
from giusto.guarantee.rest import REST_LEAST
from giusto.guarantee.search import Search
from giusto.protocol import ShareTerms

SELDOM_NS = 86_400_000_000_000
"""A publisher that sends a byte once in a day."""


@lru_cache(maxsize=64)
def least_latency_ns(setting: Setting, share: ShareTerms | None = None) -> int:
    """Of the smallest message of one publisher to one subscriber; 1 if nothing can be promised at all.

    The topic has a share, or the best one for this that there is.
    """
    if share is None:
        share = ShareTerms(virtual_deadline=0) if setting.input == "fair" else ShareTerms()
    change = Change(
        topics=(Allotted(topic="topic", share=share),),
        supplies=(
            Supply(
                client="publisher",
                topic="topic",
                count=1,
                period_ns=SELDOM_NS,
                jitter_ns=setting.tolerance_ns,
                size_bytes=1,
            ),
        ),
        demands=(Demand(key="need", client="subscriber", topic="topic", max_latency_ns=1),),
        rest=REST_LEAST,
    )
    return Search(Book(setting), change).smallest_latency_ns() or 1


def too_short(asked_ns: int, least_ns: int) -> str:
    """Why a latency is refused though nobody publishes."""
    return (
        f"{milliseconds(asked_ns)} cannot be promised, whoever will publish: in a broker that has nothing "
        f"else to do the smallest message may take {milliseconds(least_ns)}"
    )
