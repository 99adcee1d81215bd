"""How sure a mean is, against the printed tables of Student's t."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto.errors import InvalidInput
from giusto.pipeline.confidence import both_tails, half_width, student_t


@pytest.mark.parametrize(
    ("degrees", "confidence", "t"),
    [
        (1, 95, 12.7062047),
        (2, 95, 4.3026527),
        (4, 90, 2.1318468),
        (9, 99, 3.2498355),
        (19, 95, 2.0930241),
        (120, 95, 1.9799304),
        (1_000_000, 95, 1.9599664),
    ],
)
def test_t_is_that_of_the_tables(degrees: int, confidence: float, t: float) -> None:
    assert student_t(degrees, confidence) == pytest.approx(t, abs=1e-6)


def test_with_one_degree_it_is_the_tangent() -> None:
    # Student's t with one degree of freedom is Cauchy's distribution.
    for confidence in (1, 50, 90, 99.9):
        assert student_t(1, confidence) == pytest.approx(math.tan(math.pi * confidence / 200), rel=1e-9)


@given(degrees=st.integers(1, 10_000), confidence=st.floats(0.1, 99.9))
def test_so_many_percent_lie_within_t(degrees: int, confidence: float) -> None:
    assert both_tails(student_t(degrees, confidence), degrees) == pytest.approx(
        1 - confidence / 100, rel=1e-6
    )


def test_the_half_width_of_a_sample() -> None:
    values = [4.0, 5.0, 6.0, 9.0]
    found = half_width(4, statistics.stdev(values))
    assert found == pytest.approx(3.1824463 * statistics.stdev(values) / 2, rel=1e-6)


def test_one_value_says_nothing_of_the_spread() -> None:
    assert half_width(1, 0.0) is None


@pytest.mark.parametrize("confidence", [0, 100, -1, math.nan])
def test_a_confidence_that_makes_no_sense_is_refused(confidence: float) -> None:
    with pytest.raises(InvalidInput, match="percent above 0 and below 100"):
        student_t(3, confidence)
