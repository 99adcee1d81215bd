"""Percentiles are those of the values, to three digits."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto.cli.histogram import PERCENTILES, Histogram, summary

Values = st.lists(st.integers(0, 10**12), min_size=1, max_size=300)


def exact(values: list[int], percent: float) -> int:
    """The least value that `percent` of all do not exceed."""
    place = max(1, math.ceil(Fraction(str(percent)) * len(values) / 100))
    return sorted(values)[place - 1]


@given(Values)
def test_a_percentile_is_never_below_the_exact_one_and_hardly_above(values: list[int]) -> None:
    for percent, found in Histogram(values).percentiles().items():
        wanted = exact(values, percent)
        assert wanted <= found <= wanted + wanted // 1024 + 1


@given(Values)
def test_the_extremes_and_the_mean_are_exact(values: list[int]) -> None:
    seen = Histogram(values)
    assert (seen.least, seen.most, seen.total) == (min(values), max(values), len(values))
    assert seen.mean == sum(values) / len(values)


@given(Values, Values)
def test_values_may_come_in_pieces(first: list[int], second: list[int]) -> None:
    pieces = Histogram(first)
    pieces.record(second)
    assert summary(pieces) == summary(Histogram(first + second))


def test_a_hundred_numbers_have_the_percentiles_that_everybody_expects() -> None:
    found = Histogram(range(1, 101)).percentiles()
    assert [found[percent] for percent in PERCENTILES] == [50, 90, 95, 99, 100, 100]


def test_the_last_percentile_leaves_out_one_in_ten_thousand() -> None:
    values = [1] * 9999 + [2000]
    assert Histogram(values).percentiles([99.99]) == {99.99: 1}
    assert Histogram([*values, 2000]).percentiles([99.99]) == {99.99: 2000}


def test_nothing_measured_is_no_failure() -> None:
    assert set(summary(Histogram()).values()) == {0}


@pytest.mark.parametrize("value", [-1, -(10**9)])
def test_a_clock_that_disagrees_counts_as_zero(value: int) -> None:
    assert summary(Histogram([value]))["max_ns"] == 0
