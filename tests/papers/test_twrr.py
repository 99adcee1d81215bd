"""What the sheet of TWR²R² says instead of printed formulas is what giusto computes; its shares fit 165."""

from __future__ import annotations

from fractions import Fraction
from math import isclose

import pytest

from giusto.errors import InvalidInput
from giusto.guarantee import twrr
from giusto.papers import find, once

SHEET = {claim.id: claim.published for claim in find("twrr").sheet.claims}
CORRECTIONS = {claim.id for claim in find("twrr").sheet.claims if claim.corrects}
WEIGHTS = [10] * 5 + [7] * 5 + [4] * 5 + [1] * 5
ALL = [6] * 20
QUANTUM = Fraction(522, 10_000)
FIG4 = [[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]]
COMPUTED = {
    "client-time-true": twrr.allotment([4, 3, 2], FIG4).client_quanta[0],
    "theorem2-section7-true": twrr.response(
        WEIGHTS, ALL, 0, 1, twrr.service_rate(WEIGHTS, ALL, 0, QUANTUM), QUANTUM
    ),
    "cycle-true": len(twrr.cells([4, 2])),
    "own-cell-true": twrr.gap([2, 1], [1, 1], 0, 2) + 1,
    "window-true": twrr.gap([3, 2], [1, 1], 0, 2) + 1,
    "theorem1-true": twrr.response([1], [1], 0, 10, 0, 1),
    "theorem2-true": twrr.response([3, 2, 2, 2], [1] * 4, 0, 1, Fraction(333, 1000), 1),
    "theorem2-example-true": twrr.response([4, 3, 2], [3] * 3, 0, 1, Fraction(4, 27), 1),
    "overload-true": twrr.response([1], [2], 0, 1, Fraction(1, 2), 1),
}
READINGS = {"theta-six", "mean-others", "mean-falls-busy"}


def test_every_correction_is_computed_here_or_a_reading() -> None:
    assert set(COMPUTED) | READINGS == CORRECTIONS


@pytest.mark.parametrize("name", COMPUTED)
def test_a_correction_is_what_giusto_computes(name: str) -> None:
    expected = SHEET[name]
    assert isinstance(expected, int | float)
    assert isclose(expected, COMPUTED[name], rel_tol=1e-9)


def test_the_published_shares_are_165ths_and_nothing_smaller_fits() -> None:
    """Of all sums of quanta that a cycle can have, only multiples of 165 give all five shares."""
    shares = [SHEET[f"theta-{n}"] for n in range(5)]
    fitting = [
        total
        for total in range(1, 6 * sum(WEIGHTS) + 1)
        if all(abs(100 * round(share * total / 100) / total - share) < 0.005 for share in shares)
    ]
    assert fitting[0] == 165
    # More than 330 would need more quanta of client 1 than all topics together have.
    assert [total for total in fitting if 0.3030 * total <= sum(WEIGHTS)] == [165, 330]


def test_a_single_run_of_a_lighter_broker_is_faster() -> None:
    printed, ours = once("twrr", seed=3), once("twrr", seed=3, broker="giusto")
    assert printed["forwarded"] <= ours["forwarded"] == ours["messages"]
    assert all(ours[f"mean_{n}_ms"] < printed[f"mean_{n}_ms"] for n in range(5))


def test_a_seed_that_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidInput, match="--seed = -1: expected a whole number from 0 to"):
        once("twrr", seed=-1)
