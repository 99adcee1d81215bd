"""What is found sound without Spark: rows by run and slice, and nothing at all of a file with a bad row."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sound import SCHEMA, SOUND

from giusto.pipeline.streaming import census
from giusto.pipeline.streaming.census import Census
from giusto.pipeline.streaming.slices import Group
from giusto.pipeline.tables.bronze import LONGEST_NS
from giusto.pipeline.tables.table import SLICE_NS


def batch(*rows: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([SOUND | row for row in rows], SCHEMA)


def counted(*batches: pa.RecordBatch) -> tuple[Group, ...] | None:
    found = Census()
    for each in batches:
        found.add(each)
    return found.groups("file")


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["r", "s", "", None]), st.integers(0, 5 * SLICE_NS)), max_size=20),
        max_size=4,
    ),
    st.booleans(),
)
def test_rows_are_counted_by_run_and_slice_in_whatever_batches(
    batches: list[list[tuple[str | None, int]]], is_dictionary: bool
) -> None:
    made = []
    for rows in batches:
        each = batch(*({"run": run, "t_sent_ns": sent, "t_ingress_ns": sent} for run, sent in rows))
        if is_dictionary:
            each = each.set_column(0, "run", each.column("run").dictionary_encode())
        made.append(each)
    expected: dict[tuple[str, int], list[int]] = {}
    for run, sent in (row for rows in batches for row in rows):
        expected.setdefault((run or "", sent // SLICE_NS), []).append(sent)
    assert counted(*made) == tuple(
        Group("file", *key, None, len(sent), max(sent)) for key, sent in sorted(expected.items())
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"sequence": None},
        {"t_ingress_ns": None},
        {"outcome": "eaten"},
        {"size_bytes": -1},
        {"size_bytes": 1 << 33},
        {"bound_ns": -1},
        {"priority": 8},
        {"price": math.nan},
        {"penalty": -math.inf},
        {"t_selected_ns": -5},
        {"deadline_ns": (1 << 62) + 1},
        {"t_sent_ns": 0, "t_ingress_ns": LONGEST_NS + 1},
        {"t_sent_ns": 5_000_000_000},
        {"t_selected_ns": 150},
        {"t_selected_ns": 400, "t_egress_ns": 300},
        {"t_egress_ns": 400, "t_received_ns": 300, "clock_error_ns": 99},
    ],
)
def test_one_bad_row_and_nothing_is_said(bad: dict[str, Any]) -> None:
    assert counted(batch({}, {})) is not None
    assert counted(batch({}), batch({}, bad, {})) is None


def test_clocks_that_are_apart_and_what_is_not_known_are_sound() -> None:
    behind = {"t_sent_ns": 1_000_000_200}
    apart = {"t_egress_ns": 400, "t_received_ns": 300, "clock_error_ns": 100}
    without = batch({}).select([name for name in SCHEMA.names if name != "subscription"])
    assert counted(batch(behind, apart, {"price": 2.5, "bound_ns": 0}), without) is not None


def test_a_file_of_very_many_slices_is_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "MOST_GROUPS", 2)
    at = [{"t_sent_ns": number * SLICE_NS, "t_ingress_ns": number * SLICE_NS} for number in range(3)]
    assert counted(batch(*at[:2])) is not None
    assert counted(batch(*at)) is None
