"""The order in which interleaved weighted round robin visits topics, and the longest waits between visits.

Fig. 3 of S0 walks through rounds cw = max, max - g, …, g and serves in each of them, by index, the
topics whose weight is at least cw (g is the greatest common divisor of the weights). With v = w/g, topic m
is served in the rounds v_m, …, 1, once in each: a cycle has Σ v_m cells. Two cells of a topic are separated
either by the gap between two rounds, which grows as the rounds go down because more topics take part, or by
the wrap from round 1 to the topic's first round. The longest run of n gaps therefore ends with the wrap, or
else lies in the last rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from giusto.errors import InvalidInput
from giusto.guarantee import exact
from giusto.guarantee.exact import Number

WEIGHT_MAX = 65_535
"""Largest weight of a topic, as in the core."""

CELLS_MAX = 1 << 20
"""Longest cycle that is written out cell by cell."""


def shares(weights: Sequence[Number]) -> list[int]:
    """Cells per cycle of each topic: v_m = w_m / gcd(W)."""
    whole = exact.wholes("weights", weights, 1, WEIGHT_MAX)
    divisor = gcd(*whole)
    return [weight // divisor for weight in whole]


def sizes(publishers: Sequence[Number], topics: int) -> list[int]:
    """Quanta in a cell of each topic: one per publishing client, 0 where nobody publishes."""
    exact.require_length("publishers", publishers, topics)
    return exact.wholes("publishers", publishers, 0)


def cells(weights: Sequence[Number]) -> list[int]:
    """Topic index of each cell of one cycle, in the order of S0 Fig. 3: 4, 3, 2 gives AABABCABC."""
    share = listed_shares(weights)
    rounds: list[list[int]] = [[] for _ in range(max(share))]
    for m, v in enumerate(share):
        for members in rounds[:v]:
            members.append(m)
    return [m for members in reversed(rounds) for m in members]


def listed_shares(weights: Sequence[Number]) -> list[int]:
    """The shares of a cycle that is short enough to be written out."""
    share = shares(weights)
    if sum(share) > CELLS_MAX:
        raise InvalidInput("weights", f"{sum(share)} cells", f"at most {CELLS_MAX} cells in a cycle")
    return share


def cycle(weights: Sequence[Number], publishers: Sequence[Number]) -> Fraction:
    """Longest cycle in quanta: Σ v_m n_m."""
    share = shares(weights)
    return Fraction(sum(v * c for v, c in zip(share, sizes(publishers, len(share)), strict=True)))


@dataclass(frozen=True, slots=True)
class Rounds:
    """One topic seen from its own cells: who comes between them, as (share, quanta) with equal shares joined.

    `earlier` and `later` are the topics before and after it by index; `wrap` is H_k, `around` a whole cycle.
    """

    own: int
    size: int
    earlier: tuple[tuple[int, int], ...]
    later: tuple[tuple[int, int], ...]
    wrap: int
    around: int

    @classmethod
    def of(cls, weights: Sequence[Number], publishers: Sequence[Number], topic: int) -> Rounds:
        """Check the arguments and join what can be joined."""
        share = shares(weights)
        size = sizes(publishers, len(share))
        topic = exact.index("topic", topic, len(share))
        own = share[topic]
        earlier = joined(share[:topic], size[:topic])
        later = joined(share[topic + 1 :], size[topic + 1 :])
        wrap = sum(cost * (max(0, other - own) + (other >= own)) for other, cost in earlier)
        wrap += sum(cost * (max(0, other - own) + 1) for other, cost in later)
        around = sum(other * cost for other, cost in earlier + later)
        return cls(own, size[topic], earlier, later, wrap, around)

    def longest(self, n: int) -> int:
        """(T1) for any n >= 1."""
        turns, rest = divmod(n - 1, self.own)
        n = rest + 1
        # Σ a(c) for c = 2..n: a later topic takes part in round c, an earlier one already in round c-1.
        inner = sum(cost * min(other, n - 1) for other, cost in self.earlier)
        inner += sum(cost * (min(other, n) - 1) for other, cost in self.later)
        last = self.wrap
        if n < self.own:
            following = sum(cost for other, cost in self.earlier if other >= n)
            following += sum(cost for other, cost in self.later if other > n)
            last = max(last, following)
        return turns * self.around + inner + last

    @property
    def cycle(self) -> int:
        """Σ v_m n_m."""
        return self.around + self.own * self.size


def joined(share: Sequence[int], size: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """(share, total quanta) for each different share: the formulas only add up over topics."""
    total: Counter[int] = Counter()
    for other, cost in zip(share, size, strict=True):
        total[other] += cost
    return tuple(total.items())


def gap(weights: Sequence[Number], publishers: Sequence[Number], topic: int, n: int) -> Fraction:
    """G_k(n) of (T1), in quanta: the most foreign work within n consecutive gaps of the topic. Exact."""
    return Fraction(Rounds.of(weights, publishers, topic).longest(exact.whole("n", n, 1)))


def closed_gap(weights: Sequence[Number], publishers: Sequence[Number], topic: int, n: int) -> Fraction:
    """(T2), in quanta: equals `gap` for non-increasing weights, is never below it for any other order."""
    rounds = Rounds.of(weights, publishers, topic)
    turns, rest = divmod(exact.whole("n", n, 1) - 1, rounds.own)
    others = rounds.earlier + rounds.later
    return Fraction(
        sum(
            cost * (turns * other + max(0, other - rounds.own) + min(rest + 1, other))
            for other, cost in others
        )
    )
