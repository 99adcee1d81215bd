"""The order in which interleaved weighted round robin visits topics, and the longest waits between visits.

Fig. 3 of S0 walks through rounds cw = max, max - g, …, g and serves in each of them, by index, the
topics whose weight is at least cw (g is the greatest common divisor of the weights). With v = w/g, topic m
is served in the rounds v_m, …, 1, once in each: a cycle has Σ v_m cells. Two cells of a topic are separated
either by the gap between two rounds, which grows as the rounds go down because more topics take part, or by
the wrap from round 1 to the topic's first round. The longest run of n gaps therefore ends with the wrap, or
else lies in the last rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from giusto.guarantee import exact
from giusto.guarantee.exact import Number


def shares(weights: Sequence[Number]) -> list[int]:
    """Cells per cycle of each topic: v_m = w_m / gcd(W)."""
    whole = exact.wholes("weights", weights, 1)
    divisor = gcd(*whole)
    return [weight // divisor for weight in whole]


def sizes(publishers: Sequence[Number], topics: int) -> list[int]:
    """Quanta in a cell of each topic: one per publishing client, 0 where nobody publishes."""
    exact.require_length("publishers", publishers, topics)
    return exact.wholes("publishers", publishers, 0)


def cells(weights: Sequence[Number]) -> list[int]:
    """Topic index of each cell of one cycle, in the order of S0 Fig. 3: 4, 3, 2 gives AABABCABC."""
    share = shares(weights)
    return [m for cw in range(max(share), 0, -1) for m, v in enumerate(share) if v >= cw]


def cycle(weights: Sequence[Number], publishers: Sequence[Number]) -> Fraction:
    """Longest cycle in quanta: Σ v_m n_m."""
    share = shares(weights)
    return Fraction(sum(v * c for v, c in zip(share, sizes(publishers, len(share)), strict=True)))


def gap(weights: Sequence[Number], publishers: Sequence[Number], topic: int, n: int) -> Fraction:
    """G_k(n) of (T1), in quanta: the most foreign work within n consecutive gaps of the topic. Exact."""
    share = shares(weights)
    size = sizes(publishers, len(share))
    topic = exact.index("topic", topic, len(share))
    return Fraction(longest(share, size, topic, exact.whole("n", n, 1)))


def longest(share: Sequence[int], size: Sequence[int], topic: int, n: int) -> int:
    """`gap` on checked values, in O(topics) for any n."""
    v = share[topic]
    turns, rest = divmod(n - 1, v)
    n = rest + 1
    around = sum(share[m] * size[m] for m in range(len(share)) if m != topic)
    inner = wrap = following = 0
    for m, (other, cost) in enumerate(zip(share, size, strict=True)):
        if m == topic:
            continue
        before = m < topic
        # Σ a(c) for c = 2..n: a later topic takes part in round c, an earlier one already in round c-1.
        inner += cost * (min(other, n - 1) if before else min(other, n) - 1)
        wrap += cost * (max(0, other - v) + (other >= v if before else 1))
        following += cost * (other >= (n if before else n + 1))
    return turns * around + inner + (max(wrap, following) if n < v else wrap)


def closed_gap(weights: Sequence[Number], publishers: Sequence[Number], topic: int, n: int) -> Fraction:
    """(T2), in quanta: equals `gap` for non-increasing weights, is never below it for any other order."""
    share = shares(weights)
    size = sizes(publishers, len(share))
    topic = exact.index("topic", topic, len(share))
    v = share[topic]
    turns, rest = divmod(exact.whole("n", n, 1) - 1, v)
    return Fraction(
        sum(
            size[m] * (turns * other + max(0, other - v) + min(rest + 1, other))
            for m, other in enumerate(share)
            if m != topic
        )
    )
