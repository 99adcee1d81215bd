"""Whatever is pushed comes back from Arrow, in order, across drains."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from giusto import _core, record

I64 = st.integers(-(2**63), 2**63 - 1)
AMOUNTS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.fixed_dictionaries(
    {
        "subscriber": st.none() | st.integers(0, 5),
        "sequence": st.integers(0, 2**63 - 1),
        "priority": st.integers(0, 7),
        "t_sent_ns": I64,
        "t_egress_ns": st.none() | I64,
        "bound_ns": st.none() | I64,
        "price": AMOUNTS,
        "outcome": st.sampled_from(record.Outcome),
    }
)
FIXED = {"run": 0, "node": 0, "topic": 0, "publisher": 0, "size_bytes": 1, "t_ingress_ns": 0}


@given(st.lists(st.lists(ROWS, max_size=30), max_size=4), st.integers(1, 40))
def test_rows_come_back_as_they_were_pushed(drains: list[list[dict[str, object]]], capacity: int) -> None:
    columns = _core.Columns(capacity)
    for number in range(6):
        columns.set_name("subscriber", number, f"s{number % 4}")
    for rows in drains:
        for row in rows:
            columns.push(**FIXED, **row)
        drained = pa.record_batch(columns.drain())
        drained.validate(full=True)
        seen = drained.select(list(rows[0]) if rows else []).to_pylist()
        assert seen == [named(row) for row in rows[:capacity]]


def named(row: dict[str, object]) -> dict[str, object]:
    number = row["subscriber"]
    return {**row, "subscriber": f"s{number % 4}" if isinstance(number, int) else None}
