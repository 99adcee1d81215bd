"""The policer as Python sees it; what it decides is tested in the core and in tests/property."""

from __future__ import annotations

from fractions import Fraction

import pytest

from giusto import _core
from giusto.errors import InvalidInput


def test_three_a_second_are_exactly_three_a_second() -> None:
    policer = _core.Policer(count=3, period_ns=1_000_000_000, burst=2)
    assert [policer.conforms(0) for _ in range(3)] == [True, True, False]
    for earliest_ns in (333_333_334, 666_666_667, 1_000_000_000, 1_333_333_334):
        assert policer.next_conforming_ns == earliest_ns
        assert not policer.conforms(earliest_ns - 1)
        assert policer.conforms(earliest_ns)
    assert (policer.accepted, policer.policed) == (6, 5)


def test_the_installed_burst_is_exact() -> None:
    assert _core.Policer(min_sep_ns=10).installed_burst == 1
    assert _core.Policer(min_sep_ns=10, jitter_ns=7).installed_burst == Fraction(17, 10)
    assert _core.Policer(min_sep_ns=3, burst=Fraction(4, 3), jitter_ns=2).installed_burst == 2
    assert _core.Policer(min_sep_ns=3, burst=1.5).installed_burst == Fraction(3, 2)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("min_sep_ns", 0),
        ("min_sep_ns", -5),
        ("min_sep_ns", float("nan")),
        ("min_sep_ns", 2**63),
        ("jitter_ns", -1),
        ("jitter_ns", float("inf")),
        ("burst", 0),
        ("burst", float("nan")),
        ("burst", float("inf")),
        ("burst", 2**63),
        ("burst", "many"),
    ],
)
def test_an_impossible_offer_is_refused_by_name(field: str, value: object) -> None:
    offer: dict[str, object] = {"min_sep_ns": 10, field: value}
    with pytest.raises(InvalidInput) as raised:
        _core.Policer(**offer)  # type: ignore[arg-type]
    assert raised.value.field == field


@pytest.mark.parametrize("rate", [{}, {"count": 1}, {"min_sep_ns": 1, "count": 1, "period_ns": 1}])
def test_the_rate_is_said_once(rate: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="either min_sep_ns alone or count and period_ns"):
        _core.Policer(**rate)


def test_an_instant_that_is_none_leaves_the_bucket_alone() -> None:
    policer = _core.Policer(min_sep_ns=10)
    with pytest.raises(InvalidInput, match="now"):
        policer.conforms(2**63)
    assert (policer.accepted, policer.policed) == (0, 0)
