"""Examples of `fair`, `edf` and `polling` that can be followed by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from giusto.errors import Overload
from giusto.guarantee import edf, fair, polling

FLOOD = [(0, 0)] * 5 + [(0, 1)] * 5


def first_seven(first_deadline: Fraction | None, ties: list[int] | None = None) -> str:
    served = fair.order([2, 3], [first_deadline, None], FLOOD, 1, ties)
    return " ".join(f"T{item.topic + 1}" for item in served[:7])


def test_figure_5a_shows_both_ways_to_break_its_ties() -> None:
    assert first_seven(None, [0, 1]) == "T2 T1 T2 T1 T2 T2 T1"
    assert first_seven(None, [1, 0]) == "T2 T1 T2 T2 T1 T2 T1"


@pytest.mark.parametrize("deadline", ["1/1000", "1/12", "166/1000"])
@pytest.mark.parametrize("ties", [[0, 1], [1, 0]])
def test_figure_5b_needs_a_deadline_below_a_sixth(deadline: str, ties: list[int]) -> None:
    assert first_seven(Fraction(deadline), ties) == "T1 T2 T1 T2 T2 T1 T2"


@pytest.mark.parametrize("deadline", ["167/1000", "1/4", "33/100"])
def test_a_deadline_between_a_sixth_and_a_third_gives_another_order(deadline: str) -> None:
    assert first_seven(Fraction(deadline)) == "T1 T2 T2 T1 T2 T1 T2"


def test_tags_are_chained_and_reset_at_idle() -> None:
    served = fair.order([2], None, [(0, 0), (0, 0), (5, 0)], 1)
    assert [item.start_tag for item in served] == [0, Fraction(1, 2), 0]
    assert [item.end for item in served] == [1, 2, 6]


def test_an_arrival_at_the_end_of_a_service_finds_the_server_busy() -> None:
    served = fair.order([2], None, [(0, 0), (1, 0)], 1)
    assert [item.start_tag for item in served] == [0, Fraction(1, 2)]


def test_urgent_messages_take_the_next_slot_and_keep_their_order() -> None:
    arrivals = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 1)]
    assert [item.message for item in fair.order([1], None, arrivals, 1)] == [2, 3, 0, 1]


def test_a_lone_topic_waits_for_itself_only() -> None:
    assert fair.response([5], None, 0, 3, 1, 1) == 3


def test_a_short_deadline_leaves_one_message_of_each_other_topic() -> None:
    rates = [1, 10, 10, 10]
    assert fair.response(rates, None, 0, 1, 0, 1) == 1 + 3 * 11
    assert fair.response(rates, [0, None, None, None], 0, 1, 0, 1) == 4


def test_scfq_bound_of_golestani() -> None:
    """σ/μ_i + (N-1)/μ."""
    assert fair.linear_response([1, 3], None, 0, 2, 1) == 2 * 4 + 1


def test_guaranteed_rate_is_the_share() -> None:
    assert fair.guaranteed_rate([1, 3], 1, Fraction(1, 2)) == Fraction(3, 2)
    assert fair.response([1, 3], None, 1, 1, Fraction(3, 2), Fraction(1, 2)) > 0


def test_edf_needs_room_for_a_message_that_has_just_started() -> None:
    assert edf.feasible([(1, 10, 2), (1, 10, 10)])
    assert not edf.feasible([(1, 10, 2), ("1.01", 10, 10)])
    assert edf.first_miss([(1, 10, 2), (2, 10, 10)]) == 2
    assert edf.feasible([(1, 10, 2), (2, 10, 10)], integer_time=True)


def test_edf_at_full_load() -> None:
    assert edf.feasible([(1, 2, 2), (1, 2, 2)])
    assert not edf.feasible([(1, 2, 2), (1, 2, 2), (1, 1000, 1000)])


def test_edf_response_by_hand() -> None:
    assert edf.response([(1, 10, 2), (1, 10, 10)], 0) == 2
    assert edf.response([(1, 10, 2), (1, 10, 10)], 1) == 2
    with pytest.raises(Overload, match="3/2"):
        edf.response([(3, 2, 2)], 0)


def test_a_message_that_arrives_at_the_start_behind_a_blocker_is_too_late() -> None:
    assert edf.response([(4, 8, 6), (4, 20, 16), (1, 12, 20), (1, 5, 13)], 3) == 11


def test_edf_burst() -> None:
    assert edf.delay([(1, 10, 2)], 0, 3) == 22


def test_edf_promises_nothing_where_a_deadline_is_missed() -> None:
    with pytest.raises(Overload, match="load 2 is above 1, first miss at 0"):
        edf.delay([(20, 10, 2)], 0, 1)
    missed = [(1, 10, 2), (2, 10, 10)]
    with pytest.raises(Overload, match="first miss at 2:"):
        edf.delay(missed, 1, 1)
    # (E2) fails, (E1) does not.
    assert edf.delay([(1, 3, 2), (1, 5, 3), (1, 3, 3)], 1, 2) == 8


def test_e2_by_hand() -> None:
    assert edf.feasible_fast([(1, 10, 2), (1, 10, 10)])
    # At 3 the straight line asks for a third of a message that is not due before 5.
    tasks = [(1, 3, 2), (1, 5, 3), (1, 3, 3)]
    assert not edf.feasible_fast(tasks)
    assert edf.feasible(tasks)


def test_polling_waits_a_period_and_a_service() -> None:
    window = {"period": 10, "budget": 4, "service": 1}
    assert [polling.time_to_serve(n, **window) for n in (1, 4, 5)] == [11, 14, 21]
    assert polling.time_to_serve(1, **window, keeps_window=True) == 10 - 4 + 2
    assert polling.stable("2/5", **window)
    with pytest.raises(Overload, match="2/5"):
        polling.response(1, "1/2", **window)
