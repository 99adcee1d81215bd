"""Which cases a sweep has, and how they are named."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto.errors import InvalidInput
from giusto.pipeline.cases import digest, grid, made

VALUES = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(-1e9, 1e9), st.text(max_size=4))


def test_a_grid_has_every_combination() -> None:
    cases = grid(policy=["mtep", "fifo"], rate=range(1, 3), weight=0.4)
    assert cases == [
        {"policy": "mtep", "rate": 1, "weight": 0.4},
        {"policy": "mtep", "rate": 2, "weight": 0.4},
        {"policy": "fifo", "rate": 1, "weight": 0.4},
        {"policy": "fifo", "rate": 2, "weight": 0.4},
    ]


def test_the_same_case_twice_is_one_case() -> None:
    cases = made([{"rate": 1}, {"rate": 2}, {"rate": 1}])
    assert [case["rate"] for case in cases] == [1, 2]


def test_whole_numbers_among_others_become_floats() -> None:
    cases = made([{"rate": 1}, {"rate": 2.5}])
    assert cases.kinds == {"rate": "number"}
    assert cases.table().column("rate").to_pylist() == [1.0, 2.5]


def test_a_table_and_its_rows_are_the_same_cases() -> None:
    rows = grid(policy=["a", "b"], seed=range(3), loud=[True, False])
    table = pa.Table.from_pylist(rows)
    assert made(table).rows == made(rows).rows == made(table.to_pandas()).rows == made(made(rows)).rows


@given(case=st.dictionaries(st.sampled_from("abcdef"), VALUES, min_size=1))
def test_a_digest_does_not_depend_on_the_order(case: dict[str, Any]) -> None:
    assert digest(case) == digest(dict(reversed(case.items())))


@given(first=VALUES, second=VALUES)
def test_different_values_have_different_digests(first: Any, second: Any) -> None:
    same = first == second and isinstance(first, bool) == isinstance(second, bool)
    assert (digest({"x": first}) == digest({"x": second})) == same


def test_a_float_that_is_whole_is_the_same_case() -> None:
    assert digest({"rate": 1}) == digest({"rate": 1.0}) != digest({"rate": True})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "at least one case"),
        ([{}], "at least one parameter"),
        ("rate", "a table, or a mapping"),
        ([1], "a table, or a mapping"),
        ([{"rate": 1}, {"rate": 1, "seed": 2}], r"cases\[1\].*look at seed"),
        ([{"a b": 1}], "letters, digits and _"),
        ([{"seconds": 1}], "a column of every sweep"),
        ([{"mean": 1}], "a column of every sweep"),
        ([{"rate": None}], r"cases\[0\].rate"),
        ([{"rate": 1}, {"rate": float("nan")}], r"cases\[1\].rate.*finite"),
        ([{"rate": 2**63}], "64 bits"),
        ([{"rate": 2**53 + 1}, {"rate": 0.5}], "holds exactly"),
        ([{"rate": 1}, {"rate": "fast"}], r"cases\[1\].rate.*same type as 1"),
        ([{"rate": True}, {"rate": 1}], r"cases\[1\].rate.*same type as True"),
        ([{"name": "\udcff"}], "Unicode"),
    ],
)
def test_what_is_no_case_is_refused_with_its_place(given: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        made(given)
