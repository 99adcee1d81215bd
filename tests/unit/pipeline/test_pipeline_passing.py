"""What is known of one row as a delivery."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from giusto.pipeline.tables.columns import columns_of
from giusto.pipeline.tables.files import COLUMNS
from giusto.pipeline.tables.passing import deliveries_of, has_come, is_copied, renamed

ALL = ["delivered", "late", "expired", "policed", "overflow", "lost"]
GIVEN = {
    "run": "r",
    "node": "hub",
    "hop": 2,
    "topic": "t",
    "publisher": "p",
    "subscriber": "s",
    "sequence": 1,
    "size_bytes": 9,
    "priority": 1,
    "t_sent_ns": 100,
    "t_ingress_ns": 110,
    "t_selected_ns": 130,
    "t_egress_ns": 160,
    "clock_error_ns": 5,
    "outcome": "delivered",
    "subscription": 7,
}


def columns(*rows: dict[str, Any]) -> dict[str, pa.Array]:
    """Rows that are so, but for what is given."""
    names = ("run", "node", "topic", "publisher", "subscriber", "outcome")
    found = pa.RecordBatch.from_pylist(
        [{name: {**GIVEN, **row}.get(name) for name in COLUMNS} for row in rows]
    )
    kinds = {"integer": pa.int32(), "long": pa.int64(), "byte": pa.int8(), "double": pa.float64()}
    arrays = [
        column.cast(pa.string() if name in names else kinds[COLUMNS[name]])
        for name, column in zip(found.schema.names, found.columns, strict=True)
    ]
    return columns_of(pa.RecordBatch.from_arrays(arrays, found.schema.names))


def test_the_parts_of_a_delay_are_told() -> None:
    (row,) = deliveries_of(columns({}), 1000).to_pylist()
    assert (row["latency_ns"], row["latency_low_ns"], row["latency_high_ns"]) == (60, 55, 65)
    parts = ("network_in_ns", "queue_ns", "egress_ns", "network_out_ns", "inside_ns")
    assert [row[name] for name in parts] == [10, 20, 30, None, 50]
    assert (row["hops"], row["wall_ns"], row["records"], row["outcome"]) == (3, 1100, 1, "delivered")


def test_what_came_after_its_deadline_is_late_and_what_did_not_come_has_no_delay() -> None:
    rows = columns({"deadline_ns": 59}, {"outcome": "expired", "deadline_ns": 1})
    came, lost = deliveries_of(rows, None).select(["outcome", "latency_ns", "wall_ns"]).to_pylist()
    assert came == {"outcome": "late", "latency_ns": 60, "wall_ns": None}
    assert lost == {"outcome": "expired", "latency_ns": None, "wall_ns": None}


def test_what_a_subscriber_saw_is_of_no_broker() -> None:
    seen = {"t_selected_ns": None, "t_egress_ns": None, "t_ingress_ns": 170, "t_received_ns": 170}
    (row,) = deliveries_of(columns({**seen, "node": "s"}), None).to_pylist()
    assert (row["node"], row["hops"], row["t_ingress_ns"], row["latency_ns"]) == (None, 2, None, 70)


def test_only_what_was_for_nobody_and_came_is_a_copy() -> None:
    nobody = {"subscriber": None, "subscription": None}
    rows = columns({}, nobody, {**nobody, "outcome": "policed"}, {"outcome": "late"})
    assert is_copied(rows).tolist() == [False, True, False, False]
    assert has_come(rows).tolist() == [True, True, False, True]


def test_what_is_late_is_called_so_whether_others_were_or_not() -> None:
    for names in (ALL, ALL[:1] + ALL[2:]):
        numbers = pa.array([0, 0, names.index("expired")], pa.int32())
        found = renamed(
            pa.DictionaryArray.from_arrays(numbers, pa.array(names)), np.array([False, True, False])
        )
        assert found.to_pylist() == ["delivered", "late", "expired"]
