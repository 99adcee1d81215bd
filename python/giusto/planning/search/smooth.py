"""Light weights under which every topic holds with `smooth`; a search that may miss, and says so.

The table of smooth weighted round robin changes irregularly with the weights, so that more weight for a
topic may lengthen one of its waits. Weights are raised where they are too small, from 1 and from those of
`twrr`, and lowered again where they may be. Where so few vectors have a smaller sum that all can be tried,
they are: then the weights are proved to be the cheapest. That there are none is proved only by the time
that they would need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb, gcd
from operator import sub

from giusto.guarantee.smooth import EFFORT_MAX, spread
from giusto.guarantee.wrr import CELLS_MAX, WEIGHT_MAX
from giusto.planning.search import twrr
from giusto.planning.search.lanes import Nothing, Seat, too_much

RAISES = 400
LOOKS = 400
TRIED_MAX = 3_000
"""How often weights are raised, and lowered, and how many vectors are tried one by one."""

# The square of the cells of one topic is what a look costs.
OWN_CELLS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Light:
    """Weights, and whether it is proved that none have a smaller sum."""

    weights: tuple[int, ...]
    cheapest: bool


class Waits:
    """The completions of one topic in a table of cells."""

    def __init__(self, order: Sequence[int], costs: Sequence[int], topic: int) -> None:
        self.cost_ns = costs[topic]
        ends = [0, *accumulate(costs[m] for m in order)]
        self.turn_ns = ends[-1]
        starts = [ends[place] for place, m in enumerate(order) if m == topic]
        self.own = len(starts)
        twice = starts + [start + self.turn_ns for start in starts]
        # From the start of a cell to the start of the n-th cell after it, at most.
        self.spans: list[int] = [max(map(sub, twice[n:], starts)) for n in range(1, self.own + 1)]

    def complete_ns(self, n: int, empty_ns: int) -> int:
        """(T3) for any fixed table: the gaps of n cells and the cells themselves."""
        turns, rest = divmod(n - 1, self.own)
        return empty_ns + turns * self.turn_ns + self.spans[rest]


def missing(seats: Sequence[Seat], weights: Sequence[int], empty_ns: int) -> list[int] | None:
    """The topics that do not hold with these weights; None if the table is longer than any can be."""
    divisor = gcd(*weights)
    share = tuple(weight // divisor for weight in weights)
    if not buildable(share):
        return None
    order = spread(share)
    costs = [seat.cost_ns for seat in seats]
    return [k for k, seat in enumerate(seats) if not holds(seat, Waits(order, costs, k), empty_ns)]


def buildable(share: Sequence[int]) -> bool:
    """Whether a broker has such a table, and it can be looked at in good time."""
    cells = sum(share)
    return (
        cells <= CELLS_MAX >> 3
        and cells * len(set(share)) <= EFFORT_MAX >> 3
        and max(share) <= min(OWN_CELLS_MAX, WEIGHT_MAX)
    )


def holds(seat: Seat, waits: Waits, empty_ns: int) -> bool:
    """Whether all messages of all lanes are complete in time; after a cycle it is never worse."""
    for lane in seat.lanes:
        if lane.outruns(waits.turn_ns, waits.own):
            return False
        for n in range(lane.first, lane.first + waits.own + 1):
            if waits.complete_ns(n * lane.fragments, empty_ns) > lane.limit(n):
                return False
    return True


def light_weights(seats: Sequence[Seat], empty_ns: int) -> Light | Nothing:
    """Weights of a small sum, or none."""
    impossible = too_much(seats)
    if impossible is not None:
        return impossible
    found = [weights for start in starts(seats, empty_ns) if (weights := raised(seats, start, empty_ns))]
    if not found:
        return Nothing(False, "no weights found: smooth has no rule by which a search could end with a proof")
    return tried(seats, lowered(seats, min(found, key=sum), empty_ns), empty_ns)


def starts(seats: Sequence[Seat], empty_ns: int) -> Iterator[list[int]]:
    """Where raising begins: at 1, and at what `twrr` needs."""
    yield [seat.fixed or 1 for seat in seats]
    weights = twrr.least_weights(seats, empty_ns)
    if not isinstance(weights, Nothing):
        yield weights


def raised(seats: Sequence[Seat], start: Sequence[int], empty_ns: int) -> list[int] | None:
    """The first weights on the way up that hold."""
    weights = list(start)
    for _ in range(RAISES):
        short = missing(seats, weights, empty_ns)
        if short is None:
            return None
        if not short:
            return weights
        free = [k for k in short if seats[k].fixed is None]
        if not free:
            return None
        for k in free:
            weights[k] += 1 + weights[k] // 8
    return None


def lowered(seats: Sequence[Seat], start: Sequence[int], empty_ns: int) -> list[int]:
    """The weights, each as much lower as it may be while nothing else changes."""
    weights = list(start)
    looks = 0
    for k in sorted(range(len(seats)), key=lambda k: -weights[k]):
        while seats[k].fixed is None and weights[k] > 1 and looks < LOOKS:
            looks += 1
            weights[k] -= 1
            if missing(seats, weights, empty_ns) != []:
                weights[k] += 1
                break
    return weights


def tried(seats: Sequence[Seat], known: Sequence[int], empty_ns: int) -> Light:
    """The cheapest weights if all cheaper ones can be tried, else those that are known."""
    free = [k for k, seat in enumerate(seats) if seat.fixed is None]
    total = sum(known[k] for k in free)
    # Vectors of positive numbers with a smaller sum.
    if comb(max(0, total - 1), len(free)) > TRIED_MAX:
        return Light(tuple(known), cheapest=False)
    weights = list(known)
    for smaller in range(len(free), total):
        for parts in compositions(smaller, len(free)):
            for k, part in zip(free, parts, strict=True):
                weights[k] = part
            if missing(seats, weights, empty_ns) == []:
                return Light(tuple(weights), cheapest=True)
    return Light(tuple(known), cheapest=True)


def compositions(total: int, count: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as a sum of `count` positive numbers, in order."""
    if count == 0:
        if total == 0:
            yield ()
        return
    for first in range(1, total - count + 2):
        for others in compositions(total - first, count - 1):
            yield (first, *others)
