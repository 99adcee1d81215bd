"""How much other traffic the bounds reckon with: more than there is, so that it seldom changes them."""

from __future__ import annotations

from giusto.guarantee.model import Rest

# A flush has 64 KiB in any case: up to here the rest makes no bound longer.
REST_LEAST = Rest(fanout=64, size_bytes=65_536, comparisons=64)


def rest_of(fanout: int, size_bytes: int, comparisons: int = 0) -> Rest:
    """Other traffic, rounded up to powers of two."""
    return Rest(
        fanout=max(REST_LEAST.fanout, _power(fanout)),
        size_bytes=max(REST_LEAST.size_bytes, _power(size_bytes)),
        comparisons=max(REST_LEAST.comparisons, _power(comparisons)),
    )


def larger(one: Rest, other: Rest) -> Rest:
    """Both of them."""
    return Rest(
        fanout=max(one.fanout, other.fanout),
        size_bytes=max(one.size_bytes, other.size_bytes),
        comparisons=max(one.comparisons, other.comparisons),
    )


def _power(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()
