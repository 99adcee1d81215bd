"""When a claim reproduces, and who has to look when it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto.errors import InvalidInput
from giusto.papers import Claim, Size, Value, Verdict, judge
from giusto.papers.claim import Published, judgement, shown, shown_ours, shown_published

numbers = st.floats(-1e9, 1e9)
slacks = st.floats(0, 1e6)


def claim(published: Published, compare: str, **more: object) -> Claim:
    return Claim(id="x", place="Fig. 1", what="it", published=published, compare=compare, **more)  # type: ignore[arg-type]


def verdict(published: Published, compare: str, ours: Value, **more: object) -> Verdict:
    return judgement(claim(published, compare, **more), ours, Size.FULL).verdict


@pytest.mark.parametrize(
    ("published", "compare", "ours", "more"),
    [
        ("A B", "equal", "A B", {}),
        (True, "equal", True, {}),
        (10, "near", 10.4, {"absolute": 0.5}),
        (200.0, "near", 209, {"relative": 0.05}),
        (200.0, "near", 214, {"relative": 0.05, "absolute": 5}),
        ((88.85, 90.84), "between", 90.0, {}),
        ((88.85, 90.84), "between", 91.0, {"absolute": 0.5}),
        (95, "at_least", 99, {}),
        (3, "at_most", -7, {}),
    ],
)
def test_a_value_that_agrees_reproduces(
    published: Published, compare: str, ours: Value, more: dict[str, float]
) -> None:
    assert verdict(published, compare, ours, **more) is Verdict.REPRODUCES


@pytest.mark.parametrize(
    ("published", "compare", "ours", "more"),
    [
        ("A B", "equal", "B A", {}),
        (True, "equal", False, {}),
        (True, "equal", 1, {}),
        (10, "near", 10.6, {"absolute": 0.5}),
        ((88.85, 90.84), "between", 88.0, {}),
        (95, "at_least", 94.9, {}),
        (3, "at_most", 3.1, {}),
        (3, "at_most", float("inf"), {}),
    ],
)
def test_a_value_that_does_not_agree_does_not_reproduce(
    published: Published, compare: str, ours: Value, more: dict[str, float]
) -> None:
    assert verdict(published, compare, ours, **more) is Verdict.DOES_NOT


@given(numbers, slacks, numbers)
def test_near_is_the_same_as_at_least_and_at_most(published: float, slack: float, ours: float) -> None:
    each = [
        verdict(published, compare, ours, absolute=slack) is Verdict.REPRODUCES
        for compare in ("near", "at_least", "at_most")
    ]
    assert each[0] == (each[1] and each[2])


@given(numbers, slacks, slacks)
def test_a_wider_tolerance_never_takes_a_verdict_back(published: float, slack: float, more: float) -> None:
    ours = published + slack
    assert verdict(published, "near", ours, absolute=2 * slack + more + 1) is Verdict.REPRODUCES


@pytest.mark.parametrize("ours", [float("nan"), "3", True])
def test_what_is_no_number_cannot_be_near(ours: Value) -> None:
    with pytest.raises(InvalidInput, match=r"x = .*: expected a number"):
        verdict(3.0, "near", ours)


def test_a_reason_is_shown_only_if_the_claim_fails() -> None:
    told = claim(3, "at_most", reason="because")
    assert judgement(told, 2, Size.FULL).reason == ""
    assert judgement(told, 4, Size.FULL).reason == "because"


def test_a_failing_claim_without_a_reason_is_unexplained() -> None:
    assert judgement(claim(3, "at_most"), 4, Size.FULL).is_unexplained
    assert not judgement(claim(3, "at_most"), 3, Size.FULL).is_unexplained
    assert not judgement(claim(3, "at_most", reason="because"), 4, Size.FULL).is_unexplained


def test_no_reason_excuses_a_correction_that_fails() -> None:
    assert judgement(claim(3, "at_most", reason="because", corrects="y"), 4, Size.FULL).is_unexplained


def test_a_claim_for_the_full_size_is_not_tried_in_a_small_run() -> None:
    large = claim(3, "at_most", small=False)
    assert judge([large], {"x": 9}, Size.SMALL)[0].verdict is Verdict.NOT_TRIED
    assert judge([large], {}, Size.SMALL)[0].reason == "judged in full size only"
    assert judge([large], {"x": 9}, Size.FULL)[0].verdict is Verdict.DOES_NOT


def test_a_claim_outside_of_virtual_time_needs_no_value_and_takes_none() -> None:
    live = claim(3, "at_most", outside="measured on a machine")
    assert judge([live], {}, Size.FULL)[0].reason == "measured on a machine"
    with pytest.raises(InvalidInput, match="values = x"):
        judge([live], {"x": 1}, Size.FULL)


def test_a_claim_without_a_value_and_a_value_without_a_claim_are_refused() -> None:
    with pytest.raises(InvalidInput, match="values = x: expected a measured value"):
        judge([claim(3, "at_most")], {}, Size.FULL)
    with pytest.raises(InvalidInput, match="values = y: expected values of claims"):
        judge([claim(3, "at_most")], {"x": 1, "y": 1}, Size.FULL)


def test_one_experiment_alone_is_judged_by_its_own_claims() -> None:
    both = [claim(3, "at_most"), Claim(id="y", place="", what="", published=1)]
    assert [each.claim.id for each in judge(both, {"x": 1}, Size.FULL, complete=False)] == ["x"]


def test_values_are_shown_for_people() -> None:
    assert [shown(value) for value in (None, True, 348287.2, 12000, 0.70849, "A")] == [
        "–",
        "yes",
        "348,287.2",
        "12,000",
        "0.7085",
        "A",
    ]
    assert shown_published(claim(0.7, "near", absolute=0.05, unit="ms")) == "0.7 ± 0.05 ms"
    assert shown_published(claim((1.0, 2.0), "between", relative=0.1)) == "1 – 2 ± 10 %"
    assert shown_published(claim(3, "at_most", unit="ms")) == "≤ 3 ms"
    assert shown_ours(judgement(claim(3, "at_most", unit="ms"), 0.2, Size.FULL)) == "0.2 ms"
