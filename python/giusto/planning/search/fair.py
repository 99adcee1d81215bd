"""The least rates and the latest virtual deadlines under which every topic holds with `fair`.

By (V1) the n-th quantum of topic k is complete by n s_k + Σ_{m≠k} (1 + ⌊r_m ((n-1)/r_k + d_k + 2 ticks)⌋)
s_m. The deadline of a topic counts for itself alone, and 0 is its best one. So if any rates and deadlines
hold, then the same rates hold with the deadline 0. With that, more rate for a topic never raises its own
completions and never lowers those of another one: there is a least vector of rates, with the least sum,
that raising each rate that is too small, from 1 on, reaches. After that every deadline is made as late as
its topic bears.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from giusto.guarantee.stages.fair import ROUNDING_TICKS, SPAN, TICKS
from giusto.planning.search.lanes import Lane, Nothing, Seat, too_much

RATE_MAX = 65_535
"""Largest rate that is looked for; the core takes larger ones, but it is their proportions that count."""

PASSES_MAX = 60
"""How often all topics are looked at before the search gives up, if they are many."""

LOOKS_MIN = 2_000
"""How many looks it takes in any case: few topics may raise one another in small steps, and cost little."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What each topic gets; deadlines in ticks."""

    rates: tuple[int, ...]
    deadlines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """One topic among all: the costs of the others by rate, its own rate and virtual deadline."""

    others: tuple[tuple[int, int], ...]
    cost_ns: int
    rate: int
    deadline: int

    def complete_ns(self, n: int) -> int:
        """(V1) with a cost for each topic, the own one included."""
        extent, unit = (n - 1) * TICKS + (self.deadline + ROUNDING_TICKS) * self.rate, self.rate * TICKS
        ahead = sum(cost * (1 + rate * extent // unit) for rate, cost in self.others)
        return ahead + self.cost_ns * (1 + extent // TICKS)

    def line_ns(self, n: int) -> int:
        """The same without rounding down."""
        extent = (n - 1) * TICKS + (self.deadline + ROUNDING_TICKS) * self.rate
        weighted = sum(rate * cost for rate, cost in self.others) + self.rate * self.cost_ns
        once = sum(cost for _, cost in self.others) + self.cost_ns
        return once - (-weighted * extent // (self.rate * TICKS))

    def holds(self, lane: Lane) -> bool:
        """Whether every message of the lane is complete in time, as admission sees it.

        It looks at some messages behind the burst; from there on the straight line decides.
        """
        weighted = sum(rate * cost for rate, cost in self.others) + self.rate * self.cost_ns
        if lane.outruns(weighted, self.rate):
            return False
        beyond = lane.first + SPAN + 1
        return self.line_ns(beyond * lane.fragments) <= lane.limit(beyond) and all(
            self.complete_ns(n * lane.fragments) <= lane.limit(n) for n in range(lane.first, beyond)
        )


def least_rates(seats: Sequence[Seat], deadlines: Sequence[int | None]) -> Rates | Nothing:
    """The cheapest rates; `deadlines` are those that are given, in ticks."""
    impossible = too_much(seats, ahead=1)
    if impossible is not None:
        return impossible
    rates = [seat.fixed or 1 for seat in seats]
    costs: Counter[int] = Counter()
    for rate, seat in zip(rates, seats, strict=True):
        costs[rate] += seat.cost_ns
    settled = k = looks = 0
    looks_max = max(LOOKS_MIN, PASSES_MAX * len(seats))
    while settled < len(seats):
        seat, given = seats[k], deadlines[k] or 0
        least = least_rate(seat, given, rates[k], beside(costs, rates[k], seat.cost_ns))
        if least is None or (least != rates[k] and seat.fixed is not None):
            return Nothing(True, f"{seat.topic} cannot hold with any rate up to {RATE_MAX}", seat.topic)
        settled = settled + 1 if least == rates[k] else 1
        if least != rates[k]:
            move(costs, seat.cost_ns, rates[k], least)
            rates[k] = least
        looks += 1
        if looks > looks_max:
            return Nothing(False, f"no rates found in {looks // len(seats)} passes over all topics")
        k = (k + 1) % len(seats)
    latest = [
        latest_deadline(seat, rate, beside(costs, rate, seat.cost_ns)) if given is None else given
        for seat, rate, given in zip(seats, rates, deadlines, strict=True)
    ]
    return Rates(tuple(rates), tuple(latest))


def move(costs: Counter[int], cost_ns: int, old: int, new: int) -> None:
    """A topic gets another rate; a rate that nobody has any more is not looked at again."""
    costs[new] += cost_ns
    costs[old] -= cost_ns
    if not costs[old]:
        del costs[old]


def beside(costs: Counter[int], rate: int, cost_ns: int) -> tuple[tuple[int, int], ...]:
    """The costs of the other topics, by rate; a topic that costs nothing is not there."""
    left = ((other, cost - (cost_ns if other == rate else 0)) for other, cost in costs.items())
    return tuple((other, cost) for other, cost in left if cost > 0)


def least_rate(seat: Seat, deadline: int, least: int, others: tuple[tuple[int, int], ...]) -> int | None:
    """The least rate from `least` on with which the topic holds; a deadline may not be above 1/rate."""
    most = min(RATE_MAX, TICKS // deadline) if deadline else RATE_MAX

    def enough(rate: int) -> bool:
        return holds(seat, Place(others, seat.cost_ns, rate, deadline))

    return first_true(enough, least, most)


def latest_deadline(seat: Seat, rate: int, others: tuple[tuple[int, int], ...]) -> int:
    """The latest virtual deadline, in ticks, with which the topic still holds."""

    def too_late(deadline: int) -> bool:
        return not holds(seat, Place(others, seat.cost_ns, rate, deadline))

    most = TICKS // rate
    found = first_true(too_late, 0, most)
    return most if found is None else max(0, found - 1)


def holds(seat: Seat, place: Place) -> bool:
    """Whether all lanes hold."""
    return all(place.holds(lane) for lane in seat.lanes)


def first_true(test: Callable[[int], bool], least: int, most: int) -> int | None:
    """The least number from `least` to `most` that passes a test which all larger ones pass too."""
    if least > most:
        return None
    if test(least):
        return least
    low, step = least, 1
    while not test(high := min(most, low + step)):
        if high == most:
            return None
        low, step = high, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if test(middle) else (middle, high)
    return high
