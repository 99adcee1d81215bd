"""When messages are due."""

from __future__ import annotations

from itertools import combinations, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto.cli.pace import Pace, Release, pace
from giusto.errors import InvalidInput


def test_a_rate_that_does_not_divide_a_second_does_not_drift() -> None:
    due = list(Pace(3_001, 3, 1_000_000_000).due_ns(5))
    assert due[:4] == [5, 333_333_338, 666_666_671, 1_000_000_005]
    assert due[-1] == 5 + 1_000 * 1_000_000_000


def test_without_a_period_everything_is_due_at_once() -> None:
    assert list(Pace(3).due_ns(7)) == [7, 7, 7]


@pytest.mark.parametrize(
    ("rate", "count", "expected"),
    [
        (None, None, Pace(1)),
        (None, 5, Pace(5)),
        ("100/s", None, Pace(None, 100, 1_000_000_000)),
        ("5/10ms", 7, Pace(7, 5, 10_000_000)),
    ],
)
def test_rate_and_count_together(rate: str | None, count: int | None, expected: Pace) -> None:
    assert pace(rate, count) == expected


@pytest.mark.parametrize("rate", ["250", "250.0", "250/s"])
def test_a_number_is_messages_per_second(rate: str) -> None:
    assert list(islice(pace(rate, None).due_ns(0), 2)) == [0, 4_000_000]


def test_lines_have_no_end_of_their_own() -> None:
    assert pace(None, None, alone=None).count is None


@pytest.mark.parametrize(
    ("rate", "count", "field"), [("fast", None, "--rate"), ("0", None, "--rate"), (None, 0, "--count")]
)
def test_what_cannot_be_meant_is_refused_by_the_name_of_the_option(
    rate: str | None, count: int | None, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        pace(rate, count)
    assert refused.value.field == field


PLANS = st.builds(Pace, st.integers(1, 12), st.integers(1, 7), st.integers(10, 2_000))


def leave(plan: Pace, jitter_ns: int, delays: list[int]) -> list[int]:
    """When messages leave if the machine delays each of them so long."""
    release, now_ns, left = Release(plan, jitter_ns), 0, []
    for due_ns, delay_ns in zip(plan.due_ns(0), delays, strict=False):
        now_ns = max(now_ns, release.at_ns(due_ns)) + delay_ns
        release.left(now_ns)
        left.append(now_ns)
    return left


@given(PLANS, st.integers(0, 3_000), st.lists(st.integers(0, 10_000), min_size=12, max_size=12))
def test_however_late_messages_leave_the_offer_is_kept(plan: Pace, jitter_ns: int, delays: list[int]) -> None:
    left = leave(plan, jitter_ns, delays)
    for (first, earlier_ns), (last, later_ns) in combinations(enumerate(left), 2):
        # Exact to a nanosecond, as clocks are.
        window_ns = later_ns - earlier_ns + jitter_ns + 1
        assert (last - first) * plan.period_ns <= window_ns * plan.per


@given(PLANS, st.integers(0, 3_000), st.lists(st.integers(0, 1), min_size=12, max_size=12))
def test_what_is_late_within_the_jitter_delays_nothing_after_it(
    plan: Pace, jitter_ns: int, late: list[int]
) -> None:
    release = Release(plan, jitter_ns)
    now_ns = 0
    for due_ns, is_late in zip(plan.due_ns(0), late, strict=False):
        assert release.at_ns(due_ns) == due_ns
        now_ns = max(now_ns, due_ns + is_late * jitter_ns)
        release.left(now_ns)
