"""What is wrong in S0 as printed: one test per row of the errata, with its counterexample."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, gcd

from bounds_simulation import Slot, greedy, responses_from, seeds

from giusto.guarantee import twrr


def printed_eta(weights: list[int], k: int) -> Fraction:
    """(9), k from 0."""
    return len(weights) - 1 + Fraction(sum(weights[m] - weights[k] for m in range(k)), gcd(*weights))


def printed_cell(weights: list[int], k: int, n: int, own_cell: int = 0) -> Fraction:
    """(8), (11), (13): start of the n-th cell after s, in cells; `own_cell` 1 adds what the paper forgets."""
    divisor = gcd(*weights)
    start = printed_eta(weights, k)
    for i in range(2, n + 1):
        start += (
            own_cell
            + k
            + sum(weights[g] >= weights[k] - (i - 2) * divisor for g in range(k + 1, len(weights)))
        )
    return start


def true_cell(weights: list[int], k: int, n: int) -> Fraction:
    """End of a cell of k to the start of its n-th next cell, in cells."""
    return twrr.gap(weights, [1] * len(weights), k, n) + n - 1


def printed_theorem_1(weights: list[int], k: int, burst: int, rate: Fraction) -> Fraction:
    """(14), in cells, with s = 0."""
    return max(
        printed_cell(weights, k, n) + 1 - max(Fraction(0), (n - burst) / rate)
        for n in range(1, weights[k] // gcd(*weights) + 1)
    )


def printed_theorem_2(weights: list[int], k: int) -> Fraction:
    """(15), in cells."""
    return 1 + printed_eta(weights, k)


def sorted_vectors(count: int) -> list[list[int]]:
    return [
        sorted((rng.randint(1, 9) for _ in range(rng.randint(2, 6))), reverse=True) for _, rng in seeds(count)
    ]


def test_errata_s0_t_cycle() -> None:
    weights = [4, 2]
    assert sum(weights) == 6, "printed: cells in a cycle"
    assert twrr.cells(weights) == [0, 0, 1]
    assert twrr.cycle(weights, [1, 1]) == 3
    assert twrr.cells(weights).count(0) == 2, "printed (2): 4"


def test_errata_s0_client_share() -> None:
    matrix_in = [[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]]
    weights = [4, 3, 2]
    share = twrr.allotment(weights, matrix_in)
    printed_cycle = sum(weights) * len(matrix_in)
    assert share.client_time[0] * printed_cycle == 8, "printed left side of (4), in quanta"
    assert share.client_quanta[0] == 6, "printed right side of (4), in quanta"
    assert share.client_time[0] * twrr.cycle(weights, [3, 3, 3]) == share.client_quanta[0]
    assert sum(share.client_time) == 1


def test_errata_s0_weight_choice() -> None:
    """(7) with T = T_cycle asks for w = E; a burst just after the own quantum is then one quantum late."""
    weights, messages = [2, 1], 2
    cycle = twrr.cycle(weights, [1, 1])
    assert ceil(messages / floor(cycle / cycle)) == weights[0]
    slot = Slot(twrr.cells(weights), [1, 1], 0, 0)
    seen = max(
        max(responses_from(slot, start, [Fraction(0)] * messages, Fraction(1), Fraction(1)))
        for start in (0, 1)
    )
    assert seen == cycle + 1
    assert twrr.completion(weights, [1, 1], 0, messages, 1, work_conserving=False) == seen


def test_errata_s0_weight_order() -> None:
    """Non-increasing order gives "if m < k", not "iff": equal weights."""
    weights = [3, 3]
    assert weights[1] >= weights[0]
    # And topics k+1..NT are NT - k cells, not NT - k - 1: here one cell between two of topic 1 (k = 1).
    assert true_cell(weights, 0, 1) == len(weights) - 1


def test_errata_s0_first_cell() -> None:
    for weights in sorted_vectors(200):
        for k in range(len(weights)):
            assert printed_eta(weights, k) == true_cell(weights, k, 1), weights
    # From any instant, just after the start of an own cell, that cell comes on top.
    assert twrr.completion([2, 1], [1, 1], 0, 1, 1) == printed_eta([2, 1], 0) + 1
    assert printed_eta([1, 5], 0) == 1, "printed, weights not sorted"
    assert twrr.gap([1, 5], [1, 1], 0, 1) == 5


def test_errata_s0_own_cell() -> None:
    assert printed_cell([2, 1], 0, 2) == 1
    assert true_cell([2, 1], 0, 2) == 2
    assert printed_cell([12, 5], 0, 8) == 1
    assert true_cell([12, 5], 0, 8) == 12
    for weights in sorted_vectors(150):
        for k in range(len(weights)):
            for n in range(2, weights[k] // gcd(*weights) + 1):
                assert printed_cell(weights, k, n) < true_cell(weights, k, n), (weights, k, n)


def test_errata_s0_worst_window() -> None:
    assert printed_cell([3, 2], 0, 2, own_cell=1) == 2
    assert true_cell([3, 2], 0, 2) == 3
    cases = [
        (printed_cell(weights, k, n, own_cell=1), true_cell(weights, k, n))
        for weights in sorted_vectors(150)
        for k in range(len(weights))
        for n in range(2, weights[k] // gcd(*weights) + 1)
    ]
    assert all(printed <= true for printed, true in cases)
    assert any(printed < true for printed, true in cases)


def test_errata_s0_range() -> None:
    """(13) ends at n = w/g; the gaps go on by one cycle of the others."""
    weights, publishers = [4, 3, 2], [2, 1, 3]
    for k, own in enumerate(weights):
        around = sum(w * n for m, (w, n) in enumerate(zip(weights, publishers, strict=True)) if m != k)
        for n in range(1, 9):
            later = twrr.gap(weights, publishers, k, n + own)
            assert later == twrr.gap(weights, publishers, k, n) + around


def test_errata_s0_overload() -> None:
    printed = Fraction(1, 1)
    assert twrr.service_rate([1], [2], 0, 1) == Fraction(1, 2) < printed
    # At three quarters, which the printed condition allows, the backlog of one of two clients never ends.
    slot = Slot([0], [2], 0, 0)
    seen = responses_from(slot, 0, greedy(Fraction(1), Fraction(3, 4), 60), Fraction(1), Fraction(1))
    assert seen[-1] > seen[29] > seen[9]


def test_errata_s0_theorem_1() -> None:
    assert printed_theorem_1([1], 0, 10, Fraction(1)) == 1
    arrivals = greedy(Fraction(10), Fraction(1), 40)
    kept = responses_from(Slot([0], [1], 0, 0), 0, arrivals, Fraction(1), Fraction(1))
    assert max(kept) == 11 == twrr.response([1], [1], 0, 10, 1, 1, work_conserving=False)
    assert twrr.response([1], [1], 0, 10, 1, 1) == 10


def test_errata_s0_theorem_2() -> None:
    assert printed_theorem_2([1], 0) == 1
    assert twrr.response([1], [1], 0, 1, 1, 1, work_conserving=False) == 2
    weights, rate = [3, 2, 2, 2], Fraction("0.333")
    assert printed_theorem_2(weights, 0) == 4
    conserving = twrr.response(weights, [1] * 4, 0, 1, rate, 1)
    kept = twrr.response(weights, [1] * 4, 0, 1, rate, 1, work_conserving=False)
    assert round(float(conserving), 1) == 5.0
    assert kept == conserving + 1
    slot = Slot(twrr.cells(weights), [1] * 4, 0, 0)
    seen = [
        responses_from(slot, start, greedy(Fraction(1), rate, 8), Fraction(1), Fraction(0))
        for start, cell in enumerate(slot.order)
        if cell == 0
    ]
    assert max(map(max, seen)) == conserving
    assert max(responses[0] for responses in seen) < conserving, "the first message is not the worst one"
    # The paper's own example: A of 4, 3, 2 with three publishers each, at its full rate.
    assert 3 * printed_theorem_2([4, 3, 2], 0) == 9
    assert 4 * printed_theorem_2([4, 3, 2], 0) == 12
    full = twrr.service_rate([4, 3, 2], [3, 3, 3], 0, 1)
    assert twrr.response([4, 3, 2], [3, 3, 3], 0, 1, full, 1, work_conserving=False) == Fraction("12.25")


def test_errata_s0_table_1() -> None:
    """The "maximum delay by (15)" of 0.132 to 0.360 ms is below what (15) gives for any of the 20 topics."""
    weights = [10] * 5 + [7] * 5 + [4] * 5 + [1] * 5
    quantum_ms = Fraction("0.0512")
    least = min(printed_theorem_2(weights, k) * quantum_ms for k in range(20))
    assert least == 20 * quantum_ms
    assert least > Fraction("0.360")


def test_errata_s0_which_correction_matters() -> None:
    """Each repair of (14) alone is not enough, all of them together are (T4)."""
    unsafe = {"printed": 0, "own cells": 0, "T4": 0}
    for _, rng in seeds(80):
        weights = sorted((rng.randint(1, 6) for _ in range(rng.randint(1, 4))), reverse=True)
        k, burst = rng.randrange(len(weights)), rng.randint(1, 4)
        rate = twrr.service_rate(weights, [1] * len(weights), k, 1) * Fraction(rng.randint(1, 4), 4)
        slot = Slot(twrr.cells(weights), [1] * len(weights), k, 0)
        arrivals = greedy(Fraction(burst), rate, burst + 2 * weights[k] + 1)
        seen = max(
            max(responses_from(slot, start, arrivals, Fraction(1), Fraction(1)))
            for start, cell in enumerate(slot.order)
            if cell == k
        )
        with_own = max(
            printed_cell(weights, k, n, own_cell=1) + 1 - max(Fraction(0), (n - burst) / rate)
            for n in range(1, weights[k] // gcd(*weights) + 1)
        )
        unsafe["printed"] += seen > printed_theorem_1(weights, k, burst, rate)
        unsafe["own cells"] += seen > with_own
        unsafe["T4"] += seen > twrr.response(
            weights, [1] * len(weights), k, burst, rate, 1, work_conserving=False
        )
    assert unsafe["printed"] >= unsafe["own cells"] > 0
    assert unsafe["T4"] == 0
