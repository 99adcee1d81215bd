"""The least weights under which every topic holds with `twrr`, or the proof that there are none.

By (T2), the n-th quantum of a topic of weight v is complete by

    t(n) = e + (q + 1) Σ w_m C_m - P(v) + P(r + 1),    P(c) = Σ C_m min(c, w_m),  n - 1 = q v + r.

More weight for a topic never raises its own t(n), and never lowers that of another one. So if two vectors
of weights hold, then their componentwise minimum holds, and if any holds, there is a least one: it has the
least sum and every weight is the least possible. Raising each weight that is too small to the least value
with which its topic holds, given the others, goes up from 1 to just this vector and never beyond; when a
weight would have to pass the ceiling, no vector holds. The policy divides the weights by their common
divisor, which only shortens t(n), so the least vector has none. With given weights it may have one: every
divisor is tried.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from math import gcd

from giusto.guarantee.wrr import WEIGHT_MAX
from giusto.planning.search.lanes import Lane, Nothing, Seat, too_much

# Weights looked at before the search gives up; a search that has an end needs far fewer.
EFFORT_MAX = 50_000


class Others:
    """The cells of all topics but one: P and the cycle of them."""

    def __init__(self, costs: Counter[int], weight: int, cost_ns: int) -> None:
        left = {w: c - (cost_ns if w == weight else 0) for w, c in costs.items()}
        self.weights = sorted(w for w, c in left.items() if c > 0)
        self.sums = [0, *accumulate(w * left[w] for w in self.weights)]
        self.costs = [0, *accumulate(left[w] for w in self.weights)]

    @property
    def cycle(self) -> int:
        """Σ w_m C_m."""
        return self.sums[-1]

    def until(self, c: int) -> int:
        """P(c)."""
        place = bisect_right(self.weights, c)
        return self.sums[place] + c * (self.costs[-1] - self.costs[place])

    def steeper(self, slope: int) -> int:
        """The largest c for which P(c) - P(c - 1) is above `slope`, 0 if none is."""
        # The slope of P up to weights[i] is the cost of all from there on, which falls with i.
        place = min(bisect_left(self.costs, self.costs[-1] - slope), len(self.weights))
        return self.weights[place - 1] if place else 0


def holds(lane: Lane, weight: int, cost_ns: int, others: Others, empty_ns: int) -> bool:
    """Whether every message of the lane is complete in time if its topic has this weight.

    Over a cycle t(n) is concave and the line straight, so that only the top between them, and the ends, need
    a look; after a cycle everything is at most as bad as before, if the lane is no faster than its share.
    """
    turn_ns = others.cycle + weight * cost_ns
    if lane.outruns(turn_ns, weight):
        return False
    base = empty_ns + others.cycle - others.until(weight)
    for n in candidates(lane, weight, cost_ns, others):
        quanta = n * lane.fragments
        turns, rest = divmod(quanta - 1, weight)
        if base + quanta * cost_ns + turns * others.cycle + others.until(rest + 1) > lane.limit(n):
            return False
    return True


def candidates(lane: Lane, weight: int, cost_ns: int, others: Others) -> set[int]:
    """The messages among which the worst one is: both ends and the top of each cycle."""
    first, last = lane.first, lane.first + weight
    top = others.steeper(lane.pitch - cost_ns)
    found = {first, first + 1}
    cycle = (first * lane.fragments - 1) // weight
    while cycle * weight < last * lane.fragments:
        start = max(first + 1, -(-(cycle * weight + 1) // lane.fragments))
        end = min(last, (cycle + 1) * weight // lane.fragments)
        if start <= end:
            near = (cycle * weight + min(top, weight)) // lane.fragments
            found.update(min(max(n, start), end) for n in (near, near + 1))
        cycle += 1
    return found


def least_weight(seat: Seat, least: int, others: Others, empty_ns: int) -> int | None:
    """The least weight from `least` on with which the topic holds beside the others."""

    def enough(weight: int) -> bool:
        return all(holds(lane, weight, seat.cost_ns, others, empty_ns) for lane in seat.lanes)

    if enough(least):
        return least
    # Twice as much again and again, then halving: the answer is mostly near.
    low, high = least, min(WEIGHT_MAX, 2 * least)
    while not enough(high):
        if high == WEIGHT_MAX:
            return None
        low, high = high, min(WEIGHT_MAX, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_weights(
    seats: Sequence[Seat], empty_ns: int, floor: Sequence[int] | None = None
) -> list[int] | Nothing:
    """The cheapest weights, none below its `floor`: the least sum, so the shortest cycle."""
    impossible = too_much(seats)
    if impossible is not None:
        return impossible
    common = gcd(*(seat.fixed for seat in seats if seat.fixed is not None))
    if common == 0:
        return risen(seats, {}, empty_ns, floor)
    found: list[list[int]] = []
    failed: list[Nothing] = []
    for divisor in (d for d in range(1, common + 1) if common % d == 0):
        fixed = {k: seat.fixed // divisor for k, seat in enumerate(seats) if seat.fixed is not None}
        weights = risen(seats, fixed, empty_ns, floor)
        if isinstance(weights, Nothing):
            failed.append(weights)
        elif max(weights) * divisor <= WEIGHT_MAX:
            found.append([weight * divisor for weight in weights])
    if found:
        return min(found, key=sum)
    return next((each for each in failed if not each.proved), failed[0])


def risen(
    seats: Sequence[Seat], fixed: dict[int, int], empty_ns: int, floor: Sequence[int] | None
) -> list[int] | Nothing:
    """The least fixpoint, from the floor or 1 upwards; `fixed` weights stay."""
    weights = [fixed.get(k, floor[k] if floor else 1) for k in range(len(seats))]
    costs: Counter[int] = Counter()
    for weight, seat in zip(weights, seats, strict=True):
        costs[weight] += seat.cost_ns
    effort = 0
    settled = 0
    k = 0
    # A topic is looked at again until nothing has changed for a whole pass.
    while settled < len(seats):
        seat = seats[k]
        others = Others(costs, weights[k], seat.cost_ns)
        least = least_weight(seat, weights[k], others, empty_ns)
        if least is None or (least != weights[k] and k in fixed):
            return refusal(seat, k in fixed)
        settled = settled + 1 if least == weights[k] else 1
        costs[weights[k]] -= seat.cost_ns
        costs[least] += seat.cost_ns
        weights[k] = least
        effort += 1
        if effort > EFFORT_MAX:
            return Nothing(False, f"no weights found in {EFFORT_MAX} steps; they would be above {weights}")
        k = (k + 1) % len(seats)
    return weights


def refusal(seat: Seat, given: bool) -> Nothing:
    """Which topic stands against all vectors."""
    limit = "with the weight that it is given" if given else f"with any weight up to {WEIGHT_MAX}"
    return Nothing(
        True, f"{seat.topic} cannot hold {limit}, with the least weights that the others need", seat.topic
    )
