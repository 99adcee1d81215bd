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
from operator import add

from giusto.errors import InvalidInput
from giusto.guarantee import table, wrr
from giusto.guarantee.exact import Number

EFFORT_MAX = 1 << 23
"""Cells times different weights at most, as in the core."""


def cells(weights: Sequence[Number]) -> list[int]:
    """Topic index of each cell of one cycle."""
    share = wrr.listed_shares(weights)
    effort = sum(share) * len(set(share))
    if effort > EFFORT_MAX:
        expected = f"at most {EFFORT_MAX} cells times different weights"
        raise InvalidInput("weights", f"{effort} cells times different weights", expected)
    return list(spread(tuple(share)))


@lru_cache(maxsize=8)
def spread(share: tuple[int, ...]) -> tuple[int, ...]:
    """The table; kept for a while, because one admission asks for it once per topic.

    Topics of equal share take turns by index, so that only the next one of each share has to be compared.
    """
    total, many = sum(share), len(share)
    members = {v: [m for m, other in enumerate(share) if other == v] for v in sorted(set(share))}
    groups = list(members.values())
    # Credit and index of the next topic of each share in one number: of equal credits the lowest index is the
    # largest. Whole lists are added and compared, since this is done for every cell.
    earned = [v * many for v in members]
    heads = [-own[0] for own in groups]
    turn = [0] * len(groups)
    order = []
    for _ in range(total):
        heads = list(map(add, heads, earned))
        best = heads.index(max(heads))
        group, place = groups[best], turn[best]
        order.append(group[place])
        heads[best] += group[place]
        place += 1
        if place == len(group):
            place = 0
            heads[best] -= total * many
        turn[best] = place
        heads[best] -= group[place]
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
