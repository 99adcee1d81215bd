"""The `smooth` policy: the shares of weighted round robin with the cells of a topic spread over the cycle.

At each step every topic's credit grows by its share v_m, the topic with the largest credit is served (the
lowest index among equals) and pays Σ v. After Σ v steps all credits are 0 again, so the table has the same
Σ v cells as `twrr`, but a light topic no longer waits while the heavy ones take all their extra cells in
one block. Its bounds are those of any fixed table.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from giusto.guarantee import table, wrr
from giusto.guarantee.exact import Number


def cells(weights: Sequence[Number]) -> list[int]:
    """Topic index of each cell of one cycle."""
    return list(spread(tuple(wrr.shares(weights))))


@lru_cache(maxsize=8)
def spread(share: tuple[int, ...]) -> tuple[int, ...]:
    """The table; kept for a while, because one admission asks for it once per topic."""
    total = sum(share)
    credit = [0] * len(share)
    order = []
    for _ in range(total):
        credit = [held + earned for held, earned in zip(credit, share, strict=True)]
        served = credit.index(max(credit))
        credit[served] -= total
        order.append(served)
    return tuple(order)


def gap(weights: Sequence[Number], publishers: Sequence[Number], topic: int, n: int) -> Fraction:
    """G_k(n) in quanta, with the arguments of `twrr.gap`."""
    order = cells(weights)
    return table.gap(order, wrr.sizes(publishers, len(weights)), topic, n)


def response(
    weights: Sequence[Number],
    publishers: Sequence[Number],
    topic: int,
    burst: Number,
    rate: Number,
    quantum: Number,
    fragments: int = 1,
    work_conserving: bool = True,
    search: Number = 0,
) -> Fraction:
    """(T4), with the arguments of `twrr.response`."""
    order = cells(weights)
    wrr.sizes(publishers, len(weights))
    return table.response(order, publishers, topic, burst, rate, quantum, fragments, work_conserving, search)
