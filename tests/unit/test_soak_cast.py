"""The contracts of a soak follow from a seed, and are as dense as was asked for."""

from __future__ import annotations

from fractions import Fraction

import pytest
from benchmarks.soak.broker import setting_of
from benchmarks.soak.cast import Hopeless, admitted, draw, faster
from hypothesis import given, settings
from hypothesis import strategies as st

from giusto.guarantee.costs import Costs, Line

SETTING = setting_of("twrr", Costs(), tolerance_ns=32_000_000)
SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@settings(max_examples=10)
def test_rates_are_a_little_below_the_largest_that_are_admitted(seed: int) -> None:
    cast = draw(seed, SETTING, most_hz=1e9)
    assert 0.7 <= cast.load <= 0.95
    assert admitted(cast, SETTING)
    assert not admitted(faster(cast, Fraction(2)), SETTING)


@given(SEEDS)
@settings(max_examples=5)
def test_the_same_seed_gives_the_same_contracts(seed: int) -> None:
    assert draw(seed, SETTING, most_hz=500) == draw(seed, SETTING, most_hz=500)


@given(SEEDS)
@settings(max_examples=5)
def test_publishers_are_not_asked_for_more_than_they_can_do(seed: int) -> None:
    cast = draw(seed, SETTING, most_hz=500)
    assert cast.rate_hz <= 500.01
    assert cast.load < 0.95


def test_a_machine_that_is_too_slow_for_anything_is_called_hopeless() -> None:
    slow = Costs(serve_each=Line(1_000_000_000))
    with pytest.raises(Hopeless):
        draw(1, setting_of("twrr", slow, tolerance_ns=1_000_000), most_hz=500)
