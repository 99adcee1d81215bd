"""The search of shares against brute force: it finds some if and only if there are some, and the cheapest."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import floor, gcd

from hypothesis import given, settings
from hypothesis import strategies as st

from giusto.guarantee import smooth as tables
from giusto.guarantee import table
from giusto.guarantee.stages.fair import ROUNDING_TICKS, SPAN, TICKS
from giusto.planning.search import fair, smooth, twrr
from giusto.planning.search.lanes import Lane, Nothing, Seat

WEIGHT_MAX = 6
RATE_MAX = 5

lanes = st.builds(
    Lane,
    count=st.integers(1, 3),
    period_ns=st.integers(10, 160),
    lag=st.integers(160, 400),
    fragments=st.sampled_from([1, 1, 1, 2, 3]),
    budget_ns=st.integers(5, 140),
    left=st.integers(3, 4),
    whole=st.just(4),
    less_ns=st.integers(0, 5),
)
unnamed = st.builds(
    Seat,
    topic=st.just("t"),
    cost_ns=st.integers(1, 5),
    lanes=st.lists(lanes, max_size=2).map(tuple),
    fixed=st.sampled_from([None, None, None, 2, 4, 6]),
)
seats = st.lists(unnamed, min_size=1, max_size=3)


def vectors(places: list[Seat], most: int) -> list[tuple[int, ...]]:
    """Every vector of shares up to `most`; given ones stay."""
    return list(product(*([seat.fixed] if seat.fixed else range(1, most + 1) for seat in places)))


def interleaved(places: list[Seat], weights: tuple[int, ...], empty_ns: int) -> bool:
    """(T2), (T3) as they are printed, for many messages."""
    divisor = gcd(*weights)
    v = [weight // divisor for weight in weights]
    turn_ns = sum(own * seat.cost_ns for own, seat in zip(v, places, strict=True))

    def complete_ns(own: int, n: int) -> int:
        turns, rest = divmod(n - 1, own)
        return empty_ns + sum(
            seat.cost_ns * (turns * other + max(0, other - own) + min(rest + 1, other))
            for other, seat in zip(v, places, strict=True)
        )

    return all(
        Fraction(turn_ns * lane.fragments, own) <= lane.slope
        and all(
            complete_ns(own, n * lane.fragments) <= lane.limit(n)
            for n in range(lane.first, lane.first + 2 * own + 2)
        )
        for own, seat in zip(v, places, strict=True)
        for lane in seat.lanes
    )


def spread(places: list[Seat], weights: tuple[int, ...], empty_ns: int) -> bool:
    """The table of `smooth`, gap by gap."""
    order = tables.cells(weights)
    costs = [seat.cost_ns for seat in places]
    turn_ns = sum(costs[m] for m in order)
    return all(
        Fraction(turn_ns * lane.fragments, order.count(k)) <= lane.slope
        and all(
            empty_ns + table.gap(order, costs, k, n * lane.fragments) + n * lane.fragments * costs[k]
            <= lane.limit(n)
            for n in range(lane.first, lane.first + 2 * order.count(k) + 2)
        )
        for k, seat in enumerate(places)
        for lane in seat.lanes
    )


def virtual(places: list[Seat], rates: tuple[int, ...], deadlines: tuple[int, ...]) -> bool:
    """(V1) as admission has it: two ticks of rounding, and a line behind some messages."""
    topics = list(zip(rates, places, strict=True))

    def ahead(k: int, n: int) -> list[Fraction]:
        """How many messages of each topic go before, but for the first one of each and rounding."""
        extent = Fraction(n - 1, rates[k]) + Fraction(deadlines[k] + ROUNDING_TICKS, TICKS)
        return [rate * extent for rate in rates]

    def complete_ns(k: int, n: int) -> int:
        return sum(seat.cost_ns * (1 + floor(more)) for seat, more in zip(places, ahead(k, n), strict=True))

    def line_ns(k: int, n: int) -> Fraction:
        return sum(
            (seat.cost_ns * (1 + more) for seat, more in zip(places, ahead(k, n), strict=True)), Fraction(0)
        )

    def kept(k: int, lane: Lane) -> bool:
        beyond = lane.first + SPAN + 1
        return (
            Fraction(sum(rate * seat.cost_ns for rate, seat in topics) * lane.fragments, rates[k])
            <= lane.slope
            and line_ns(k, beyond * lane.fragments) <= lane.limit(beyond)
            and all(complete_ns(k, n * lane.fragments) <= lane.limit(n) for n in range(lane.first, beyond))
        )

    return all(kept(k, lane) for k, seat in enumerate(places) for lane in seat.lanes)


@given(seats, st.integers(0, 3))
def test_twrr_finds_the_cheapest_weights_if_and_only_if_some_hold(places: list[Seat], empty_ns: int) -> None:
    found = twrr.least_weights(places, empty_ns)
    holding = [each for each in vectors(places, WEIGHT_MAX) if interleaved(places, each, empty_ns)]
    if isinstance(found, Nothing):
        assert found.proved
        assert holding == []
    else:
        assert interleaved(places, tuple(found), empty_ns)
        assert all(sum(found) <= sum(each) for each in holding)
        assert holding or max(found) > WEIGHT_MAX


@given(seats, st.integers(0, 3))
def test_without_given_weights_every_weight_is_the_least_of_all_that_hold(
    places: list[Seat], empty_ns: int
) -> None:
    free = [Seat(seat.topic, seat.cost_ns, seat.lanes) for seat in places]
    found = twrr.least_weights(free, empty_ns)
    for each in vectors(free, WEIGHT_MAX):
        if interleaved(free, each, empty_ns):
            assert not isinstance(found, Nothing)
            assert all(least <= other for least, other in zip(found, each, strict=True))


@given(
    own=st.integers(1, 60),
    other=st.integers(1, 60),
    n=st.integers(1, 400),
    divisor=st.integers(1, 5),
)
def test_weight_never_hurts_its_topic_and_never_helps_others(
    own: int, other: int, n: int, divisor: int
) -> None:
    def cells(own: int, other: int) -> int:
        turns, rest = divmod(n - 1, own)
        return turns * other + max(0, other - own) + min(rest + 1, other)

    assert cells(own + 1, other) <= cells(own, other) <= cells(own, other + 1)
    assert cells(own, other) <= cells(own * divisor, other * divisor)


@given(seats, st.integers(0, 3))
@settings(max_examples=40)
def test_smooth_holds_what_it_finds_and_is_the_cheapest_when_it_says_so(
    places: list[Seat], empty_ns: int
) -> None:
    found = smooth.light_weights(places, empty_ns)
    holding = [each for each in vectors(places, 4) if spread(places, each, empty_ns)]
    if isinstance(found, Nothing):
        assert not (found.proved and holding)
    else:
        assert spread(places, found.weights, empty_ns)
        if found.cheapest:
            assert all(sum(found.weights) <= sum(each) for each in holding)


@given(seats)
@settings(max_examples=60)
def test_fair_finds_the_cheapest_rates_if_and_only_if_some_hold(places: list[Seat]) -> None:
    found = fair.least_rates(places, [None] * len(places))
    at_once = (0,) * len(places)
    holding = [each for each in vectors(places, RATE_MAX) if virtual(places, each, at_once)]
    if isinstance(found, Nothing):  # small rates are looked at first, so that it never misses those
        assert holding == []
    else:
        assert virtual(places, found.rates, found.deadlines)
        assert all(sum(found.rates) <= sum(each) for each in holding)


def test_fair_proves_that_no_rates_hold_also_if_they_raise_one_another_in_small_steps() -> None:
    quick = Lane(count=1, period_ns=42, lag=202, fragments=2, budget_ns=33)
    slow = Lane(count=1, period_ns=93, lag=160, fragments=2, budget_ns=25)
    found = fair.least_rates([Seat("a", 3, ()), Seat("b", 3, (quick,)), Seat("c", 3, (slow,))], [None] * 3)
    assert isinstance(found, Nothing)
    assert found.proved


@given(seats)
@settings(max_examples=60)
def test_virtual_deadlines_are_as_late_as_their_topics_bear(places: list[Seat]) -> None:
    found = fair.least_rates(places, [None] * len(places))
    if isinstance(found, Nothing):
        return
    for k, (rate, deadline) in enumerate(zip(found.rates, found.deadlines, strict=True)):
        later = tuple(each + (m == k) for m, each in enumerate(found.deadlines))
        assert deadline == TICKS // rate or not virtual(places, found.rates, later)
