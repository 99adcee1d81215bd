"""Numbers that mean nothing are refused with the name of their field."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from giusto.errors import InvalidInput
from giusto.guarantee import edf, fair, polling, ports, smooth, table, twrr

CASES: list[tuple[str, Callable[[], object]]] = [
    ("weights[1]", lambda: twrr.cells([1, 0])),
    ("weights[2]", lambda: twrr.cells([1, 2, -3])),
    ("weights[0]", lambda: twrr.cells([1.5])),
    ("weights[0]", lambda: twrr.cells([math.nan])),
    ("weights[0]", lambda: twrr.cells([math.inf])),
    ("weights[0]", lambda: twrr.cells([True])),
    ("weights[0]", lambda: twrr.cells(["many"])),
    ("weights", lambda: twrr.cells([])),
    ("weights[0]", lambda: smooth.cells([0])),
    ("publishers", lambda: twrr.gap([1, 1], [1], 0, 1)),
    ("publishers[1]", lambda: twrr.gap([1, 1], [1, -1], 0, 1)),
    ("publishers[0]", lambda: twrr.response([1, 1], [0, 1], 0, 1, 0, 1)),
    ("publishers[0]", lambda: table.response([0, 1], [0, 1], 0, 1, 0, 1)),
    ("publishers", lambda: smooth.response([1, 1], [1], 0, 1, 0, 1)),
    ("topic", lambda: twrr.gap([1, 1], [1, 1], 2, 1)),
    ("topic", lambda: twrr.gap([1, 1], [1, 1], -1, 1)),
    ("topic", lambda: table.gap([0, 0], [1, 1], 1, 1)),
    ("table[1]", lambda: table.gap([0, 2], [1, 1], 0, 1)),
    ("n", lambda: twrr.gap([1], [1], 0, 0)),
    ("burst", lambda: twrr.response([1], [1], 0, 0.5, 0, 1)),
    ("rate", lambda: twrr.response([1], [1], 0, 1, -1, 1)),
    ("rate", lambda: twrr.response([1], [1], 0, 1, math.nan, 1)),
    ("quantum", lambda: twrr.response([1], [1], 0, 1, 0, 0)),
    ("search", lambda: twrr.response([1], [1], 0, 1, 0, 1, search=2)),
    ("fragments", lambda: twrr.response([1], [1], 0, 1, 0, 1, fragments=0)),
    ("flows[0][0].burst", lambda: twrr.refined_response([1], [[(0, 0)]], 0, 0, 1)),
    ("flows[0][0]", lambda: twrr.refined_response([1], [[(1,)]], 0, 0, 1)),  # type: ignore[list-item]
    ("client", lambda: twrr.refined_response([1], [[(1, 0)]], 0, 1, 1)),
    ("hops", lambda: twrr.chain_response([], 1)),
    ("hops[1].rate", lambda: twrr.chain_response([(1, 1), (1, 0)], 1)),
    ("shortest", lambda: twrr.output_burst(1, 1, 1, 2)),
    ("matrix_in[0][1]", lambda: twrr.allotment([1, 1], [[1, 2]])),
    ("matrix_in", lambda: twrr.allotment([1, 1], [[0, 0]])),
    ("rates[1]", lambda: fair.response([1, 0], None, 0, 1, 0, 1)),
    ("deadlines[0]", lambda: fair.response([2, 1], ["0.6", None], 0, 1, 0, 1)),
    ("deadlines[1]", lambda: fair.response([2, 1], [None, -1], 0, 1, 0, 1)),
    ("deadlines", lambda: fair.response([2, 1], [None], 0, 1, 0, 1)),
    ("service", lambda: fair.response([2, 1], None, 0, 1, 0, 0)),
    ("j", lambda: fair.completion([1], None, 0, 0, 1)),
    ("ties", lambda: fair.order([1, 1], None, [], 1, [0, 0])),
    ("arrivals[0].topic", lambda: fair.order([1], None, [(0, 1)], 1)),
    ("tasks", lambda: edf.feasible([])),
    ("tasks[0].cost", lambda: edf.feasible([(0, 1, 1)])),
    ("tasks[0].deadline", lambda: edf.feasible([(1, 1, -1)])),
    ("tasks[0]", lambda: edf.feasible([(1, 1)])),  # type: ignore[list-item]
    ("tasks[0].period", lambda: edf.feasible([(1, 1.5, 2)], integer_time=True)),
    ("i", lambda: edf.response([(1, 2, 2)], 1)),
    ("budget", lambda: polling.response(1, 0, period=2, budget=3, service=1)),
    ("budget", lambda: polling.response(1, 0, period=2, budget=Fraction(1, 2), service=1)),
    ("wire_ns", lambda: ports.Flow(0, 1)),
    ("min_sep_ns", lambda: ports.Flow(1, math.inf)),
    ("longest_frame_ns", lambda: ports.Flow(1, 10, longest_frame_ns=2)),
    ("shortest_frame_ns", lambda: ports.Flow(2, 10, longest_frame_ns=1, shortest_frame_ns=2)),
    ("levels", lambda: ports.assign_levels([], 0)),
    ("blocking_ns", lambda: ports.assign_levels([], 1, -1)),
    ("new", lambda: ports.reconfiguration([1], [1, 2])),
    ("wire_bytes", lambda: ports.limiter(0, 1)),
    ("wire_bytes", lambda: ports.limited(ports.Limiter(10, 1), 20, bandwidth_bytes_per_s=1)),
    ("hops", lambda: ports.path_admission(ports.Request("x", 1, 1, 1, [], 1), {})),
]


@pytest.mark.parametrize(("field", "call"), CASES, ids=[f"{i}-{field}" for i, (field, _) in enumerate(CASES)])
def test_the_field_is_named(field: str, call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.field == field
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("half", [0.5, "0.5", "1/2", Decimal("0.5"), Fraction(1, 2)])
def test_exact_numbers_of_any_kind_are_taken(half: float | str | Decimal | Fraction) -> None:
    assert twrr.response([1], [1], 0, 1, half, half) == Fraction(1, 2)


def test_a_float_is_the_binary_value_it_holds() -> None:
    assert twrr.completion([1], [1], 0, 1, 0.1) == Fraction(0.1) != Fraction(1, 10)
