"""What calibration promises of any samples: limits hold as often as they say, lines lie above all points."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto.guarantee import fitting, pooling, quantile
from giusto.guarantee.measured import Point, Work

COST = st.integers(1, 10**9)
PERCENT = st.sampled_from([50.0, 75.0, 90.0, 99.0, 99.9])
STEP_POINTS = st.dictionaries(
    st.tuples(st.sampled_from([64, 256, 1_024, 65_536]), st.sampled_from([0, 1, 2, 4, 16, 64])),
    COST,
    min_size=1,
)


def exact_doubt(samples: int, above: int, percentile: float) -> Fraction:
    """The probability that at most so many samples lie above the quantile."""
    p = Fraction(str(percentile)) / 100
    return sum(
        (comb(samples, m) * (1 - p) ** m * p ** (samples - m) for m in range(above + 1)), start=Fraction(0)
    )


def step_point(size: int, count: int, cost: int) -> Point:
    work = Work("step", size, count)
    return Point(work=work, samples=1, median_ns=cost, cost_ns=cost, max_ns=cost, certain=True)


@given(st.integers(1, 400), PERCENT, PERCENT)
def test_as_many_samples_are_left_out_as_the_confidence_allows_and_no_more(
    samples: int, percentile: float, confidence: float
) -> None:
    above = quantile.allowed_above(samples, percentile, confidence)
    doubt = 1 - Fraction(str(confidence)) / 100
    slack = Fraction(1, 10**9)
    if above is not None:
        assert exact_doubt(samples, above, percentile) <= doubt + slack
    following = 0 if above is None else above + 1
    assert following == samples or exact_doubt(samples, following, percentile) >= doubt - slack


@given(st.lists(COST, min_size=1, max_size=300).map(sorted), PERCENT, PERCENT, PERCENT, PERCENT)
def test_more_percent_or_more_confidence_never_lower_the_limit(
    ascending: list[int], one: float, other: float, sure: float, surer: float
) -> None:
    low, high = sorted([one, other])
    less, more = sorted([sure, surer])
    at = {(p, c): quantile.upper(ascending, p, c).value for p in (low, high) for c in (less, more)}
    assert at[low, less] <= at[low, more] <= at[high, more]
    assert at[low, less] <= at[high, less]


@pytest.mark.parametrize("shape", ["uniform", "exponential", "two peaks"])
def test_the_limit_covers_the_quantile_of_a_known_distribution_about_as_often_as_it_says(shape: str) -> None:
    draws = random.Random(20_261_116)
    draw, true = {
        "uniform": (lambda: draws.randrange(10**6), 990_000),
        "exponential": (lambda: round(draws.expovariate(1e-6)), 4_605_170),
        "two peaks": (lambda: 10**6 if draws.random() < 0.02 else 1_000, 10**6),
    }[shape]
    runs = 400
    covered = sum(
        quantile.upper(sorted(draw() for _ in range(500)), 99.0, 95.0).value >= true for _ in range(runs)
    )
    # 380 of 400 are promised; by chance it is below 350 less than once in ten million runs.
    assert covered >= 350


@given(st.lists(st.tuples(st.integers(0, 1 << 20), COST), min_size=1, max_size=12))
def test_a_line_lies_above_all_points_and_touches_one(points: list[tuple[int, int]]) -> None:
    line = fitting.least_line(points)
    assert all(line.ns(size) >= cost for size, cost in points)
    assert line.fixed_ns == 1 or any(line.ns(size) == cost for size, cost in points)
    assert line.byte_ps >= 0


@given(st.integers(1, 10**6), st.integers(0, 10**5), st.sets(st.integers(0, 1 << 20), min_size=2, max_size=8))
def test_points_on_a_line_give_that_line_back(fixed: int, byte_ns: int, sizes: set[int]) -> None:
    line = fitting.least_line([(size, fixed + byte_ns * size) for size in sizes])
    assert (line.fixed_ns, line.byte_ps) == (fixed, 1_000 * byte_ns)


@given(STEP_POINTS)
def test_a_step_and_its_deliveries_together_cover_every_point(points: dict[tuple[int, int], int]) -> None:
    step, deliver = fitting.by_subscribers([step_point(*at, cost) for at, cost in points.items()])
    assert all(step.ns(size) + n * deliver.ns(size) >= cost for (size, n), cost in points.items())


@given(
    st.dictionaries(
        st.builds(Work, st.just("take"), st.sampled_from([64, 256, 1_024, 1 << 20])),
        st.lists(COST, min_size=1, max_size=50),
        min_size=1,
    )
)
def test_work_that_is_like_no_other_costs_the_limit_of_its_own_samples(
    samples: dict[Work, list[int]],
) -> None:
    for point in pooling.points_of(samples, 90.0, 90.0):
        own = sorted(samples[point.work])
        median = own[len(own) // 2]
        alone = pooling.points_of({point.work: own}, 90.0, 90.0)[0]
        limit = quantile.upper(own, 90.0, 90.0).value
        assert limit <= alone.cost_ns <= limit + median // pooling.SCALE + 1
        assert point.certain or not alone.certain
