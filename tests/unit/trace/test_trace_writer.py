"""When files of records end, what they say of themselves, and what the manifest says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tracing import MS, Traced

from giusto import record
from giusto.errors import InvalidInput
from giusto.trace import Options, TraceWriter
from giusto.trace.layout import METADATA_KEY


def test_what_was_recorded_is_in_the_folder_when_the_writer_has_stopped(tmp_path: Path) -> None:
    traced = Traced(tmp_path)
    traced.turn(3)
    traced.source.push(4)
    traced.stop()
    table = record.read(tmp_path)
    assert table["sequence"].to_pylist() == list(range(7))
    assert table.schema.equals(record.SCHEMA)
    assert traced.files == ["ward_3-run_1-00000001.parquet"]


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    traced = Traced(tmp_path, sampling=7)
    traced.turn(3)
    traced.stop()
    metadata = pq.read_metadata(record.files(tmp_path)[0]).metadata
    said = json.loads(metadata[METADATA_KEY])
    assert said.pop("wall_offset_ns") > 0
    span = {"first_ns": 5, "last_ns": 2 * MS + 5}
    assert said == {"run": "run_1", "node": "ward 3", "sequence": 1, "rows": 3, "sampling": 7, **span}
    assert metadata[record.VERSION_KEY] == str(record.VERSION).encode()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"file_rows": 5}, [6, 6, 3]),
        ({"file_age_ns": 20 * MS}, [9, 6]),
        ({"file_bytes": 1}, [15]),
        ({}, [15]),
    ],
    ids=["rows", "age", "bytes", "none"],
)
def test_a_file_ends_where_it_should(tmp_path: Path, options: dict[str, int], expected: list[int]) -> None:
    traced = Traced(tmp_path, **options)
    for _ in range(5):
        traced.turn(3, after_ms=10)
    traced.stop()
    assert [line["rows"] for line in traced.said if line["event"] == "file"] == expected
    assert [pq.read_metadata(file).num_rows for file in record.files(tmp_path)] == expected


def test_a_file_ends_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("giusto.trace.writer.GROUP_ROWS", 10)
    traced = Traced(tmp_path, file_bytes=2_000)
    for _ in range(6):
        traced.turn(10)
    traced.stop()
    rows = [line["rows"] for line in traced.said if line["event"] == "file"]
    assert sum(rows) == 60
    assert len(rows) >= 2


def test_a_file_that_nothing_comes_for_any_more_ends_by_its_age(tmp_path: Path) -> None:
    traced = Traced(tmp_path, file_age_ns=20 * MS)
    traced.turn(3)
    traced.turn(after_ms=20)
    traced.writer.stop()
    assert [line["event"] for line in traced.said] == ["file", "ended"]


def test_a_run_without_records_has_no_files(tmp_path: Path) -> None:
    traced = Traced(tmp_path)
    traced.turn()
    traced.stop()
    assert traced.files == []
    assert [line["event"] for line in traced.said] == ["ended"]
    assert record.read(tmp_path).num_rows == 0


def test_what_found_no_room_in_memory_is_counted(tmp_path: Path) -> None:
    traced = Traced(tmp_path)
    traced.turn(1_500)
    traced.turn(1_001)
    traced.stop()
    assert traced.dropped == {"ring": 501}
    assert record.read(tmp_path).num_rows + 501 == 2_501


def test_names_that_change_are_those_of_their_time_in_the_file(tmp_path: Path) -> None:
    traced = Traced(tmp_path)
    traced.turn(2)
    traced.source.columns.set_name("topic", 0, "b")
    traced.turn(2)
    traced.stop()
    assert record.read(tmp_path, ["topic"])["topic"].to_pylist() == ["a", "a", "b", "b"]


def test_facts_are_written_when_they_change(tmp_path: Path) -> None:
    traced = Traced(tmp_path)
    for number, weight in enumerate([1, 1, 2]):
        topics = [{"topic": "a", "weight": weight}]
        traced.writer.state({"run": "run_1", "node": "ward 3", "at_ns": number, "topics": topics})
    traced.stop()
    facts = [json.loads(path.read_text()) for path in sorted((tmp_path / "facts").iterdir())]
    assert [(fact["at_ns"], fact["topics"][0]["weight"]) for fact in facts] == [(0, 1), (2, 2)]


def test_a_writer_needs_a_folder_that_can_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=r"trace\.folder"):
        Traced(tmp_path / "file")
    with pytest.raises(InvalidInput, match=r"trace\.folder"):
        TraceWriter(Options(), lambda: None, node="n", run="r")
