"""What the sheet of Tempo says instead of printed formulas is what giusto computes."""

from __future__ import annotations

from fractions import Fraction
from math import isclose, log

import pytest

from giusto.errors import InvalidInput
from giusto.guarantee import edf, fair, polling
from giusto.papers import find, once

SHEET = {claim.id: claim.published for claim in find("tempo").sheet.claims if claim.corrects}
HALF = Fraction(1, 2)
OTHERS = ([10, 1, 1, 1, 1, 1], [Fraction(1, 10), 1, 1, 1, 1, 1])
COMPUTED = {
    "fig5b-deadline-true": Fraction(1, 6),
    "tag-rule-idle": fair.response([1, 10], [Fraction(1, 100), None], 0, 1, Fraction(1, 100), 1),
    "intensity-true": Fraction(250, 10_000),
    "mean-response-true": 1000 / (10_000 - 250),
    "mean-constant": 1000 * (1 / 10_000 + 0.025 / (2 * 10_000 * (1 - 0.025))),
    "percentile-true": 1000 / (10_000 - 250) * log(1000),
    "polling-max-true": polling.response(1, Fraction(1, 10), period=10, budget=4, service=1),
    "polling-stable-true": polling.Window.checked(10, 4, Fraction(5, 2)).rate,
    "waiting-short-true": fair.completion([1, 1], [1, Fraction(1, 100)], 0, 1, 1) - 1,
    "waiting-others-true": fair.completion(*OTHERS, 0, 1, 1) - 1,
    "stability-true": fair.response([1, 1], None, 0, 1, 1, HALF),
    "stability-deadlines-true": 0,
    "isolation-bound": 1,
}


def test_every_correction_is_computed_here() -> None:
    assert set(COMPUTED) == set(SHEET)


@pytest.mark.parametrize("name", COMPUTED)
def test_a_correction_is_what_giusto_computes(name: str) -> None:
    expected = SHEET[name]
    assert isinstance(expected, int | float)
    assert isclose(expected, COMPUTED[name], rel_tol=1e-9)


def test_the_printed_stability_test_accepts_what_cannot_work() -> None:
    assert not edf.feasible([(Fraction(2, 3), 1, 1)] * 2)


def test_a_single_run_isolates_with_shares_and_not_without() -> None:
    small = {"contention": 1, "capacity": 7_000}
    shares, queue = once("tempo", **small), once("tempo", policy="one-queue", **small)
    assert shares["good_worst_ms"] * 10 < queue["good_worst_ms"]
    assert shares["bad_worst_ms"] > 100 * shares["bad_before_ms"]


@pytest.mark.parametrize("name", ["capacity", "rate", "share", "contention"])
def test_a_single_run_that_cannot_be_made_is_refused(name: str) -> None:
    for value in (0, 10**9):
        with pytest.raises(InvalidInput, match=f"--{name} = {value}: expected a whole number from 1 to"):
            once("tempo", **{name: value})
