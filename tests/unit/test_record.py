"""Records as Arrow sees them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from giusto import _core, record
from giusto.errors import InvalidInput, Unknown

RECORDS = Path(__file__).parents[2] / "docs/reference/records.md"
LEAST = {
    "run": 0,
    "node": 0,
    "topic": 1,
    "publisher": 2,
    "sequence": 3,
    "size_bytes": 128,
    "t_sent_ns": 10,
    "t_ingress_ns": 20,
    "outcome": "lost",
}


def named(capacity: int = 10) -> _core.Columns:
    columns = _core.Columns(capacity)
    for column, number, name in [
        ("run", 0, "r"),
        ("node", 0, "n"),
        ("topic", 1, "a/b"),
        ("publisher", 2, "p"),
    ]:
        columns.set_name(column, number, name)
    return columns


def test_the_table_in_the_reference_is_the_schema() -> None:
    rows = re.findall(
        r"^\| (\w+) \| ([a-z0-9(), ]+) \| ([^|]*) \|[^|]*\|$", RECORDS.read_text(), re.MULTILINE
    )
    documented = [(name, kind, missing != "never") for name, kind, missing in rows]
    assert documented == [(field.name, arrow_type(field.type), field.nullable) for field in record.SCHEMA]


def arrow_type(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return f"dictionary({kind.index_type}, {kind.value_type})"
    return str(kind)


def test_the_outcomes_in_the_reference_are_those_of_the_core() -> None:
    documented = re.findall(r"^\| (\w+) \| [^|]* \|$", RECORDS.read_text(), re.MULTILINE)
    assert documented[1:] == _core.OUTCOMES == [str(outcome) for outcome in record.Outcome]


def test_the_program_in_the_reference_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", RECORDS.read_text(), re.DOTALL)
    exec(program, {})


def test_what_was_pushed_comes_back_as_rows() -> None:
    columns = named()
    columns.set_name("subscriber", 4, "s")
    full = {
        **LEAST,
        "hop": 2,
        "subscriber": 4,
        "priority": 7,
        "t_intended_ns": 9,
        "t_selected_ns": 30,
        "t_egress_ns": 40,
        "t_received_ns": 50,
        "clock_error_ns": 5,
        "min_sep_ns": 1000,
        "deadline_ns": 100,
        "bound_ns": 90,
        "price": 1.5,
        "penalty": 0.25,
        "outcome": "delivered",
        "subscription": 17,
    }
    names = {"run": "r", "node": "n", "topic": "a/b", "publisher": "p"}
    assert columns.push(**LEAST)
    assert columns.push(**full)
    batch = record.to_arrow(columns.drain())
    batch.validate(full=True)
    nothing = dict.fromkeys(record.SCHEMA.names, None)
    least = {**nothing, **LEAST, **names, "hop": 0, "priority": 0, "clock_error_ns": 0}
    assert batch.to_pylist() == [least, {**full, **names, "subscriber": "s"}]


def test_batches_go_into_one_table_under_the_names_of_their_time() -> None:
    columns = named()
    columns.push(**LEAST)
    first = columns.drain()
    columns.set_name("topic", 1, "c/d")
    columns.push(**LEAST)
    table = record.to_table([first, columns.drain(), columns.drain()])
    assert table.column("topic").to_pylist() == ["a/b", "c/d"]
    assert table.schema.equals(record.SCHEMA, check_metadata=True)


def test_the_integer_columns_are_not_copied() -> None:
    columns = named()
    columns.push(**LEAST)
    batch = columns.drain()
    first, second = pa.record_batch(batch), pa.record_batch(batch)

    def addresses(rows: pa.RecordBatch) -> list[int]:
        return [
            buffer.address
            for name in ("sequence", "t_sent_ns", "size_bytes")
            for buffer in rows.column(name).buffers()
            if buffer is not None
        ]

    assert len(addresses(first)) == 3
    assert addresses(first) == addresses(second)


def test_arrow_keeps_the_rows_when_the_batch_is_gone() -> None:
    columns = named()
    columns.push(**LEAST)
    rows = pa.record_batch(columns.drain())
    del columns
    assert rows.column("sequence").to_pylist() == [3]


def test_a_full_store_says_so_and_counts() -> None:
    columns = named(capacity=2)
    assert [columns.push(**LEAST) for _ in range(5)] == [True, True, False, False, False]
    batch = columns.drain()
    assert (len(batch), batch.dropped, columns.dropped, len(columns)) == (2, 3, 3, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("topic", -1),
        ("sequence", 2**64),
        ("size_bytes", None),
        ("t_sent_ns", float("nan")),
        ("deadline_ns", 2**63),
        ("priority", 8),
        ("price", float("nan")),
        ("penalty", "much"),
        ("outcome", "eaten"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_kept(field: str, value: object) -> None:
    columns = named()
    with pytest.raises(InvalidInput) as raised:
        columns.push(**{**LEAST, field: value})
    assert raised.value.field == field
    assert len(columns) == 0


def test_names_and_columns_that_do_not_exist_are_unknown() -> None:
    columns = named()
    with pytest.raises(Unknown, match="column of names colour"):
        columns.set_name("colour", 0, "red")
    with pytest.raises(Unknown, match="unknown column colour"):
        columns.push(**LEAST, colour=1)
    with pytest.raises(InvalidInput, match="capacity = 0"):
        _core.Columns(0)


def test_records_of_this_version_and_of_earlier_ones_can_be_read() -> None:
    for version in range(1, record.VERSION + 1):
        record.require_version(with_version(str(version)))


@pytest.mark.parametrize("version", [str(record.VERSION + 1), "0", "-1", "1.5", "", "new"])
def test_records_of_a_later_or_impossible_version_are_refused(version: str) -> None:
    with pytest.raises(InvalidInput, match="another giusto"):
        record.require_version(with_version(version))


def test_records_without_a_version_are_refused() -> None:
    with pytest.raises(InvalidInput, match="none"):
        record.require_version(record.SCHEMA.remove_metadata())


def with_version(version: str) -> pa.Schema:
    return record.SCHEMA.with_metadata({record.VERSION_KEY: version.encode()})


def test_records_do_not_load_arrow_before_it_is_needed() -> None:
    program = "import sys, giusto.record; sys.exit('pyarrow' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
