"""What an offer comes to in the bounds: a flow as its bucket lets it through."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from giusto.contract import Offer
from giusto.contract.offer import SIZE_BYTES_DEFAULT
from giusto.guarantee.model import Supply


def supply_of(client: str, topic: str, offer: Offer, tolerance_ns: int) -> Supply:
    """The flow of an offer; `tolerance_ns` is what the broker adds to its jitter. It must have a limit."""
    assert offer.limit is not None
    count, period_ns = offer.limit
    return Supply(
        client=client,
        topic=topic,
        count=count,
        period_ns=period_ns,
        burst=offer.burst,
        jitter_ns=offer.jitter_ns + tolerance_ns,
        size_bytes=size_of(offer),
    )


def larger_of(one: Supply, other: Supply) -> Supply:
    """The flow of one client on one topic that is the larger of both in every respect."""
    faster = max(one, other, key=lambda supply: Fraction(supply.count, supply.period_ns))
    return replace(
        faster,
        burst=max(one.burst, other.burst),
        jitter_ns=max(one.jitter_ns, other.jitter_ns),
        size_bytes=max(one.size_bytes, other.size_bytes),
    )


def size_of(offer: Offer) -> int:
    """The largest message that the broker takes under an offer."""
    return SIZE_BYTES_DEFAULT if offer.max_size_bytes is None else offer.max_size_bytes
