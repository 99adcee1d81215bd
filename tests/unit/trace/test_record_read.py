"""Records are read from files old and new, as Arrow or a data frame; what cannot be read is named."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tracing import Traced

from giusto import record
from giusto.errors import InvalidInput, NotInstalled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trace folder with two files of two records."""
    traced = Traced(tmp_path / "trace", file_rows=2)
    traced.turn(2)
    traced.turn(2)
    traced.stop()
    return tmp_path / "trace"


def first_version(table: pa.Table) -> pa.Table:
    """The records as version 1 had them."""
    return table.drop_columns(["subscription"]).replace_schema_metadata({record.VERSION_KEY: b"1"})


def test_a_trace_folder_its_records_and_one_file_are_read_alike(folder: Path) -> None:
    whole = record.read(folder)
    assert whole["sequence"].to_pylist() == [0, 1, 2, 3]
    assert record.read(folder / "records").equals(whole)
    parts = [record.read(file) for file in record.files(folder)]
    assert pa.concat_tables(parts).unify_dictionaries().equals(whole)


def test_an_arrow_file_is_read_like_a_parquet_file(folder: Path, tmp_path: Path) -> None:
    table = record.read(folder)
    with (
        pa.OSFile(str(tmp_path / "x.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table)
    assert record.read(tmp_path / "x.arrow").equals(table)


def test_columns_are_those_that_are_asked_for_in_that_order(folder: Path) -> None:
    table = record.read(folder, ["t_sent_ns", "topic"])
    assert table.column_names == ["t_sent_ns", "topic"]
    with pytest.raises(InvalidInput, match="colour"):
        record.read(folder, ["colour"])


def test_versions_are_read_together_and_a_new_column_is_missing_in_old_rows(folder: Path) -> None:
    table = record.read(folder)
    numbered = table.set_column(
        table.schema.get_field_index("subscription"),
        record.SCHEMA.field("subscription"),
        pa.array([7] * 4),
    )
    pq.write_table(numbered, folder / "records" / "a.parquet")
    pq.write_table(first_version(table), folder / "records" / "b.parquet")
    read = record.read(folder, ["sequence", "subscription"]).to_pydict()
    assert read["subscription"] == [7] * 4 + [None] * 8
    assert read["sequence"] == [0, 1, 2, 3] * 3


def test_columns_of_this_version_in_another_type_and_columns_beside_them_are_taken(
    folder: Path, tmp_path: Path
) -> None:
    table = record.read(folder)
    plain = table.set_column(3, "topic", table["topic"].cast("string")).append_column(
        "note", pa.array("abcd")
    )
    pq.write_table(plain, tmp_path / "plain.parquet")
    assert record.read(tmp_path / "plain.parquet").equals(table)


@pytest.mark.parametrize("kind", ["foreign", "truncated", "empty", "version", "columns"])
def test_a_file_that_is_no_file_of_records_is_named_or_listed(folder: Path, kind: str) -> None:
    bad = folder / "records" / "bad.parquet"
    table = record.read(folder)
    later = {record.VERSION_KEY: str(record.VERSION + 1).encode()}
    if kind == "foreign":
        pq.write_table(pa.table({"a": [1]}), bad)
    elif kind == "truncated":
        bad.write_bytes(record.files(folder)[0].read_bytes()[:-9])
    elif kind == "empty":
        bad.touch()
    elif kind == "version":
        pq.write_table(table.replace_schema_metadata(later), bad)
    else:
        pq.write_table(table.drop_columns(["t_sent_ns"]), bad)
    with pytest.raises(InvalidInput, match=r"bad\.parquet"):
        record.read(folder)
    unread: list[record.Unread] = []
    assert record.read(folder, unread=unread).equals(table)
    assert [(one.path, bool(one.reason)) for one in unread] == [(bad, True)]


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="that exists"):
        record.read(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="arrow, pandas or polars"):
        record.read(tmp_path, as_="lists")


def test_pandas_gets_the_same_rows(folder: Path) -> None:
    pytest.importorskip("pandas")
    frame = record.read(folder, ["sequence", "topic"], as_="pandas")
    assert list(frame["sequence"]) == [0, 1, 2, 3]
    assert set(frame["topic"]) == {"a"}


@pytest.mark.skipif(find_spec("polars") is None, reason="polars is not installed")
def test_polars_gets_the_same_rows(folder: Path) -> None:
    frame = record.read(folder, ["sequence", "topic"], as_="polars")
    assert frame["sequence"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_library_that_is_missing_is_named_with_the_remedy(
    folder: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotInstalled, match=f"pip install {package}"):
        record.read(folder, as_=package)
