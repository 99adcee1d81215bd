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
    ("weights[1]", lambda: twrr.response([1, 65_536], [1, 1], 0, 1, 0, 1)),
    ("weights[0]", lambda: twrr.cells([10**12])),
    ("weights[0]", lambda: smooth.gap([65_536, 1], [1, 1], 0, 1)),
    ("weights", lambda: twrr.cells([65_535] * 16 + [65_534])),
    ("weights", lambda: smooth.cells([65_535] * 16 + [65_534])),
    ("weights", lambda: smooth.cells(range(1, 400))),
]

FLOW = ports.Flow(1, 10)
HOPS = [ports.Hop("a")]
WRONG_KINDS: list[tuple[str, Callable[..., object], tuple[object, ...]]] = [
    ("weights", twrr.cells, (None,)),
    ("weights", twrr.cells, (5,)),
    ("weights", twrr.cells, ("43",)),
    ("weights", twrr.cells, ({4, 3},)),
    ("weights", twrr.cells, (list,)),
    ("weights", smooth.cells, (iter([4, 3]),)),
    ("weights[0]", smooth.cells, ([None],)),
    ("publishers", twrr.gap, ([1], None, 0, 1)),
    ("topic", twrr.gap, ([1], [1], None, 1)),
    ("work_conserving", twrr.response, ([1], [1], 0, 1, 0, 1, 1, "no")),
    ("work_conserving", smooth.response, ([1], [1], 0, 1, 0, 1, 1, 1)),
    ("matrix_in", twrr.allotment, ([1], 3)),
    ("matrix_in[0]", twrr.allotment, ([1], [3])),
    ("hops", twrr.chain_response, (3, 1)),
    ("hops[0]", twrr.chain_response, ([3], 1)),
    ("flows", twrr.refined_response, ([1], None, 0, 0, 1)),
    ("flows[0]", twrr.refined_response, ([1], [None], 0, 0, 1)),
    ("flows[0][0]", twrr.refined_response, ([1], [[5]], 0, 0, 1)),
    ("table", table.gap, (None, [1], 0, 1)),
    ("sizes", table.gap, ([0], 1, 0, 1)),
    ("rates", fair.response, (None, None, 0, 1, 0, 1)),
    ("deadlines", fair.response, ([1], 3, 0, 1, 0, 1)),
    ("ties", fair.order, ([1], None, [], 1, 5)),
    ("ties[1]", fair.order, ([1, 1], None, [], 1, [0, "x"])),
    ("arrivals", fair.order, ([1], None, None, 1)),
    ("arrivals[0]", fair.order, ([1], None, [5], 1)),
    ("arrivals[0]", fair.order, ([1], None, [(0,)], 1)),
    ("arrivals[0].priority", fair.order, ([1], None, [(0, 0, "high")], 1)),
    ("tasks", edf.feasible, (None,)),
    ("tasks[0]", edf.feasible, ([5],)),
    ("tasks[0]", edf.delay, ([None], 0, 1)),
    ("integer_time", edf.feasible, ([(1, 2, 2)], "no")),
    ("flow", ports.queueing, (3, [], [], 0)),
    ("higher", ports.queueing, (FLOW, None, [], 0)),
    ("higher[0]", ports.message_queueing, (FLOW, [3], [], 0)),
    ("same[1]", ports.refined_queueing, (FLOW, [], [FLOW, None], 0)),
    ("flows", ports.assign_levels, (None, 1)),
    ("flows[0]", ports.assign_levels, ([3], 1)),
    ("old", ports.reconfiguration, (None, [1])),
    ("new[0]", ports.reconfiguration, ([1], ["up"])),
    ("flows[0]", ports.reconfiguration, ([1], [2], [3])),
    ("policer", ports.limited, (3, 1)),
    ("policer.rate_bytes_per_s", ports.limited, (ports.Limiter(10, 0), 1)),
    ("request", ports.path_admission, (3, {})),
    ("hops", ports.path_admission, (ports.Request("x", 1, 1, 1, None, 1), {})),  # type: ignore[arg-type]
    ("hops[0]", ports.path_admission, (ports.Request("x", 1, 1, 1, ["a"], 1), {})),  # type: ignore[list-item]
    ("hops[0].port", ports.path_admission, (ports.Request("x", 1, 1, 1, [ports.Hop([])], 1), {})),  # type: ignore[arg-type]
    ("name", ports.path_admission, (ports.Request([], 1, 1, 1, HOPS, 1), {})),  # type: ignore[arg-type]
    ("ports", ports.path_admission, (ports.Request("x", 1, 1, 1, HOPS, 1), None)),
    ("ports[a]", ports.path_admission, (ports.Request("x", 1, 1, 1, HOPS, 1), {"a": 5})),
]


@pytest.mark.parametrize(("field", "call"), CASES, ids=[f"{i}-{field}" for i, (field, _) in enumerate(CASES)])
def test_the_field_is_named(field: str, call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.field == field
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("field", "function", "arguments"),
    WRONG_KINDS,
    ids=[f"{i}-{case[0]}" for i, case in enumerate(WRONG_KINDS)],
)
def test_a_value_of_the_wrong_kind_is_named(
    field: str, function: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    keywords = {"bandwidth_bytes_per_s": 1} if function is ports.limited else {}
    with pytest.raises(InvalidInput) as caught:
        function(*arguments, **keywords)
    assert caught.value.field == field


def test_flags_and_links_are_not_words() -> None:
    window = {"period": 10, "budget": 4, "service": 1}
    with pytest.raises(InvalidInput, match="keeps_window"):
        polling.time_to_serve(1, **window, keeps_window="no")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="trusted"):
        ports.Flow(1, 10, trusted="yes")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="link"):
        ports.Flow(1, 10, link="eth0")  # type: ignore[arg-type]


def test_the_longest_cycles_are_written_out() -> None:
    assert len(twrr.cells([65_535] * 15 + [65_534, 17])) == 1 << 20
    assert len(smooth.cells([65_535] * 15 + [65_534, 17])) == 1 << 20


@pytest.mark.parametrize("half", [0.5, "0.5", "1/2", Decimal("0.5"), Fraction(1, 2)])
def test_exact_numbers_of_any_kind_are_taken(half: float | str | Decimal | Fraction) -> None:
    assert twrr.response([1], [1], 0, 1, half, half) == Fraction(1, 2)


def test_a_float_is_the_binary_value_it_holds() -> None:
    assert twrr.completion([1], [1], 0, 1, 0.1) == Fraction(0.1) != Fraction(1, 10)
