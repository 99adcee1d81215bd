"""How many cases go at once: short enough to lose little, long enough to cost little, and all in the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from giusto.pipeline.waves import IN_FLIGHT, LONGEST_S, wave_size


def test_the_first_wave_is_a_case_for_each_core() -> None:
    assert wave_size(4, 1000, None, 0.0) == 4


def test_a_task_is_about_two_seconds() -> None:
    assert wave_size(2, 100_000, 0.01, 5.0) == 2 * 200


def test_long_cases_go_one_by_one() -> None:
    assert wave_size(2, 100, 30.0, 5.0) == 2


def test_long_sweeps_have_longer_waves() -> None:
    assert wave_size(2, 10_000_000, 1.0, 1_000.0) == 2 * 20
    assert wave_size(2, 10_000_000, 1.0, 1e9) == 2 * int(LONGEST_S)


def test_waves_get_smaller_towards_the_end() -> None:
    assert wave_size(2, 100, 0.1, 5.0) == 25
    assert wave_size(2, 3, 0.1, 5.0) == 3


@given(
    cores=st.integers(1, 64),
    waiting=st.integers(1, 10**6),
    case_s=st.none() | st.floats(0, 1e4),
    elapsed_s=st.floats(0, 1e6),
)
def test_every_wave_has_a_case_and_none_has_more_than_wait(
    cores: int, waiting: int, case_s: float | None, elapsed_s: float
) -> None:
    assert 1 <= wave_size(cores, waiting, case_s, elapsed_s) <= waiting
    assert IN_FLIGHT >= 2
