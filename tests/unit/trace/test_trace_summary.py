"""A trace is summed up: what it holds, what it does not, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tracing import MS, Traced
from typer.testing import CliRunner

from giusto import record
from giusto.cli.app import app
from giusto.trace.summary import summarise


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of two records, a third that went, and three that found no room."""
    traced = Traced(tmp_path, file_rows=2)
    traced.source.push(2, outcome="late")
    traced.turn()
    traced.turn(2)
    traced.writer.drop(3)
    traced.stop()
    return tmp_path


def test_a_summary_counts_records_outcomes_and_what_is_missing(folder: Path) -> None:
    found = summarise(folder)
    assert (found.files, found.records, found.runs, found.nodes) == (2, 4, ["run_1"], ["ward 3"])
    assert found.outcomes == {"delivered": 2, "late": 2}
    assert (found.first_ns, found.last_ns) == (5, 3 * MS + 5)
    assert (found.dropped, found.removed, found.writing, found.unread) == ({"ring": 3}, {}, [], [])
    assert found.bytes == sum(file.stat().st_size for file in record.files(folder))


def test_a_single_file_is_summed_up_too(folder: Path) -> None:
    assert summarise(record.files(folder)[0]).records == 2


def test_a_writer_that_has_not_ended_is_named(tmp_path: Path) -> None:
    traced = Traced(tmp_path)
    assert summarise(tmp_path).writing == ["ward_3-run_1"]
    traced.stop()


def test_a_writer_that_came_back_and_has_not_ended_is_named(tmp_path: Path) -> None:
    Traced(tmp_path).stop()
    assert summarise(tmp_path).writing == []
    again = Traced(tmp_path, file_rows=1)
    again.turn(1)
    again.writer._disk.shutdown()
    assert summarise(tmp_path).writing == ["ward_3-run_1"]
    again.stop()


def test_the_command_prints_it_and_fails_if_a_file_cannot_be_read(folder: Path) -> None:
    said = CliRunner().invoke(app, ["records", str(folder)])
    assert said.exit_code == 0
    assert said.stdout.splitlines()[0].startswith("4 records in 2 files, ")
    assert "outcomes  delivered 2, late 2" in said.stdout
    assert "dropped   ring 3" in said.stdout
    (folder / "records" / "bad.parquet").write_bytes(b"PAR1")
    (folder / "records" / "broken.parquet").symlink_to("nowhere.parquet")
    said = CliRunner().invoke(app, ["records", str(folder), "--json"])
    assert said.exit_code == 1
    fields = json.loads(said.stdout)
    assert (fields["records"], fields["files"]) == (4, 2)
    assert [Path(path).name for path in fields["unread"]] == ["bad.parquet", "broken.parquet"]
    for path, reason in fields["unread"].items():
        assert reason.endswith(": expected a whole file of records")
        assert f"{path} = " not in reason
