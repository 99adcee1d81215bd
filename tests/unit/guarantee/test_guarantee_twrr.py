"""Examples of `twrr`, `smooth` and `table` that can be followed by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from giusto.errors import Overload
from giusto.guarantee import smooth, table, twrr


def test_cells_follow_figure_3() -> None:
    assert "".join("ABC"[cell] for cell in twrr.cells([4, 3, 2])) == "AABABCABC"


def test_a_single_topic_never_waits_for_others() -> None:
    assert twrr.cells([7]) == [0]
    assert twrr.gap([7], [3], 0, 5) == 0


def test_weights_with_a_common_divisor_give_the_short_cycle() -> None:
    assert twrr.cells([30, 20]) == twrr.cells([3, 2]) == [0, 0, 1, 0, 1]
    assert twrr.cycle([30, 20], [2, 5]) == 3 * 2 + 2 * 5


def test_gap_counts_the_quanta_of_the_others() -> None:
    # AAB with two publishers on B: one gap holds at most a cell of B.
    assert [twrr.gap([2, 1], [1, 2], 0, n) for n in (1, 2, 3)] == [2, 2, 4]
    assert [twrr.gap([2, 1], [1, 2], 1, n) for n in (1, 2)] == [2, 4]


def test_completion_adds_own_cells_and_the_missed_visit() -> None:
    assert twrr.completion([2, 1], [1, 1], 0, 1, 1) == 2
    assert twrr.completion([2, 1], [1, 1], 0, 1, 1, search=Fraction(1, 4)) == Fraction(9, 4)
    assert twrr.completion([2, 1], [1, 1], 0, 1, 1, work_conserving=False) == 3


def test_response_is_in_the_unit_of_the_quantum() -> None:
    quantum_ns = 51_200
    rate = twrr.service_rate([4, 3, 2], [3, 3, 3], 0, quantum_ns)
    bound = twrr.response([4, 3, 2], [3, 3, 3], 0, 1, rate, quantum_ns, work_conserving=False)
    assert bound == Fraction("12.25") * quantum_ns


def test_fragments_count_as_messages_in_the_table_and_as_one_in_the_flow() -> None:
    whole = twrr.response([2, 1], [1, 1], 0, 6, 0, 1)
    assert twrr.response([2, 1], [1, 1], 0, 2, 0, 1, fragments=3) == whole


def test_a_single_burst_is_done_with_its_last_message() -> None:
    assert twrr.response([2, 1], [1, 1], 0, 3, 0, 1) == twrr.completion([2, 1], [1, 1], 0, 3, 1)


def test_a_fractional_burst_counts_whole_messages() -> None:
    assert twrr.response([1], [1], 0, Fraction(5, 2), 0, 1) == twrr.response([1], [1], 0, 2, 0, 1)


def test_the_cost_does_not_grow_with_the_burst() -> None:
    burst = 10**15
    last = twrr.completion([5, 3, 1], [1, 1, 1], 1, burst, 1)
    assert twrr.response([5, 3, 1], [1, 1, 1], 1, burst, Fraction(1, 3), 1) == last
    assert smooth.response([5, 3, 1], [1, 1, 1], 1, burst, 0, 1) <= last
    assert twrr.refined_response([5, 1], [[(burst, 0)], [(1, 0)]], 0, 0, 1) == burst + 1


def test_overload_names_both_rates() -> None:
    with pytest.raises(Overload, match=r"rate 1/2 .* 4/9"):
        twrr.response([4, 3, 2], [1, 1, 1], 0, 1, Fraction(1, 2), 1)
    with pytest.raises(Overload):
        twrr.response([1], [1], 0, 1, Fraction(2, 5), 1, fragments=3)
    with pytest.raises(Overload):
        smooth.response([1, 1], [1, 1], 0, 1, Fraction(51, 100), 1)


def test_a_topic_without_publishers_takes_no_time_from_the_others() -> None:
    assert twrr.gap([2, 1], [1, 0], 0, 5) == 0


def test_smooth_spreads_the_cells_of_the_paper_s_weights() -> None:
    """Worst gaps 64, 34, 19 become 29 to 34, 20, 14."""
    weights, publishers = [10] * 5 + [7] * 5 + [4] * 5 + [1] * 5, [1] * 20
    assert [twrr.gap(weights, publishers, k, 1) for k in (0, 5, 10)] == [19, 34, 64]
    assert {smooth.gap(weights, publishers, k, 1) for k in range(5)} == {14}
    assert {smooth.gap(weights, publishers, k, 1) for k in range(5, 10)} == {20}
    assert {smooth.gap(weights, publishers, k, 1) for k in range(10, 15)} == {29, 34}


def test_smooth_cells_by_hand() -> None:
    assert smooth.cells([5, 1, 1]) == [0, 0, 1, 0, 2, 0, 0]
    assert smooth.cells([1, 1]) == [0, 1]


def test_table_takes_any_order() -> None:
    assert table.gap([0, 1, 1, 0, 2], [1, 2, 4], 0, 1) == 4
    assert table.gap([0, 1, 1, 0, 2], [1, 2, 4], 0, 2) == 8
    assert table.completion([0, 1], [1, 1], 0, 2, 1) == 4


def test_allotment_follows_the_matrix() -> None:
    share = twrr.allotment([4, 3, 2], [[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]])
    assert share.client_quanta == (6, 7, 5, 9)
    assert share.client_time == tuple(Fraction(n, 27) for n in (6, 7, 5, 9))
    assert share.topic_cells == share.topic_time == tuple(Fraction(n, 9) for n in (4, 3, 2))
    crowded = twrr.allotment([1, 1], [[1, 1], [1, 0]])
    assert crowded.topic_cells == (Fraction(1, 2), Fraction(1, 2))
    assert crowded.topic_time == (Fraction(2, 3), Fraction(1, 3))


def test_chain_pays_the_burst_once() -> None:
    assert twrr.chain_response([(5, Fraction(1, 2)), (3, Fraction(1, 4))], 3) == 8 + 2 * 4


def test_output_burst_grows_with_the_spread_of_the_delays() -> None:
    assert twrr.output_burst(2, Fraction(1, 4), 9, 1) == 4
