"""The disk is bounded, may be full, and has what killed writers left."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracing import MS, Source, Traced

from giusto import _core, record
from giusto.trace import Options, TraceWriter
from giusto.trace import file as files_of_records
from giusto.trace.keeping import MANIFESTS_MAX, Kept, Limits, surplus
from giusto.trace.manifest import Manifest
from giusto.trace.settling import settle
from giusto.trace.writer import RETRY_NS

NOBODY = {"run": "run_1", "node": "ward 3", "wall_offset_ns": 0}
KEPT = st.lists(st.builds(Kept, st.uuids().map(str), st.integers(0, 100), st.integers(0, 1_000)))


@given(KEPT, st.integers(0, 300), st.integers(0, 500))
def test_files_go_until_the_rest_is_within_the_limits(files: list[Kept], size: int, age: int) -> None:
    gone = surplus(files, Limits(size, age), 1_000)
    names = {file.name for file, _ in gone}
    left = [file for file in files if file.name not in names]
    assert bool(left) == bool(files)
    assert all(file.since_ns <= other.since_ns for file, _ in gone for other in left)
    if len(left) > 1:
        assert not size or sum(file.bytes for file in left) <= size
    for file, reason in gone:
        assert reason != "age" or 1_000 - file.since_ns > age


@given(KEPT, st.integers(1, 500))
def test_only_the_newest_may_be_older_than_the_limit(files: list[Kept], age: int) -> None:
    names = {file.name for file, _ in surplus(files, Limits(0, age), 1_000)}
    left = [file for file in files if file.name not in names]
    old = [file for file in left if 1_000 - file.since_ns > age]
    assert not old or left == old[:1]


def test_the_oldest_files_go_and_the_manifest_says_so(tmp_path: Path) -> None:
    earlier = Traced(tmp_path, run="earlier")
    earlier.turn(9)
    earlier.stop()
    (first,) = record.files(tmp_path)
    os.utime(first, ns=(0, 0))
    traced = Traced(tmp_path, file_rows=1, max_bytes=3 * first.stat().st_size)
    for _ in range(5):
        traced.turn(1)
    traced.stop()
    removed = [line for line in traced.said if line["event"] == "removed"]
    assert (removed[0]["name"], removed[0]["rows"], removed[0]["reason"]) == (first.name, 9, "size")
    written = [line for line in traced.said if line["event"] == "file"]
    assert {line["name"] for line in written} == {*traced.files, *(line["name"] for line in removed)}
    assert len(traced.files) in (2, 3)
    assert record.read(tmp_path).num_rows == len(traced.files)


def test_files_of_another_node_stay(tmp_path: Path) -> None:
    traced = Traced(tmp_path, file_rows=1, max_bytes=1)
    other = tmp_path / "records" / "ward_4-run_1-00000001.parquet"
    other.write_bytes(b"whatever")
    for _ in range(3):
        traced.turn(1)
    traced.stop()
    assert other.exists()
    assert len(traced.files) == 2


def test_what_a_killed_writer_left_unfinished_goes_with_the_next_start(tmp_path: Path) -> None:
    traced = Traced(tmp_path)
    alive = tmp_path / "records" / ".ward_3-run_1-00000009.parquet.tmp"
    killed = tmp_path / "records" / ".ward_3-other-00000002.parquet.tmp"
    foreign = tmp_path / "records" / ".ward_4-run_1-00000001.parquet.tmp"
    for path in (alive, killed, foreign):
        path.touch()
    Traced(tmp_path, run="next").stop()
    assert [path.exists() for path in (alive, killed, foreign)] == [True, False, True]
    traced.stop()


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file of this process grows beyond `limit` bytes: the kernel refuses, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("limit", [0, 1, 100, 1_000, 3_000])
def test_a_full_disk_costs_records_and_nothing_else(tmp_path: Path, limit: int) -> None:
    traced = Traced(tmp_path, file_rows=100)
    traced.turn(100)
    with full_disk(limit):
        traced.turn(100)
        traced.turn(50)
        traced.turn(100, after_ms=RETRY_NS // 1_000_000)
    traced.turn(100, after_ms=RETRY_NS // 1_000_000)
    traced.stop()
    kept, lost = record.read(tmp_path).num_rows, traced.dropped["disk"]
    assert kept + lost == 450
    assert lost >= 150
    assert record.read(tmp_path, ["sequence"])["sequence"].to_pylist()[-100:] == list(range(350, 450))
    assert list((tmp_path / "records").glob(".*")) == []
    assert sum(line["rows"] for line in traced.said if line["event"] == "file") == kept


def test_a_writer_goes_on_after_the_numbers_of_the_one_before(tmp_path: Path) -> None:
    for rows in (3, 2):
        traced = Traced(tmp_path)
        traced.writer.state({**NOBODY, "at_ns": rows, "topics": [rows]})
        traced.turn(rows)
        traced.stop()
    assert record.read(tmp_path).num_rows == 5
    assert traced.files == ["ward_3-run_1-00000001.parquet", "ward_3-run_1-00000002.parquet"]
    assert [line["name"] for line in traced.said if line["event"] == "file"] == traced.files
    assert len(list((tmp_path / "facts").iterdir())) == 2


def test_a_number_is_not_used_again_when_its_file_is_gone(tmp_path: Path) -> None:
    for _ in range(2):
        traced = Traced(tmp_path)
        traced.turn(1)
        traced.stop()
        (path,) = record.files(tmp_path)
        path.unlink()
    assert path.name == "ward_3-run_1-00000002.parquet"


def test_a_file_never_takes_the_name_of_another(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    with pytest.raises(FileExistsError):
        settle(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "old"


def test_facts_that_hold_no_more_are_within_the_limits(tmp_path: Path) -> None:
    Traced(tmp_path, run="earlier").stop()
    traced = Traced(tmp_path, max_bytes=1_000)
    for number in range(50):
        traced.writer.state({**NOBODY, "at_ns": number, "topics": [number, "x" * 200]})
    traced.turn(1)
    traced.stop()
    facts = sorted((tmp_path / "facts").iterdir())
    assert facts[-1].name == "ward_3-run_1-00000050.json", "those that hold stay"
    assert len(facts) < 5
    assert len(traced.files) == 1
    assert {line["event"] for line in traced.said} == {"file", "ended"}


def test_facts_that_held_long_ago_and_hold_still_are_not_old(tmp_path: Path) -> None:
    traced = Traced(tmp_path, max_age_ns=1, file_rows=1)
    traced.writer.state({**NOBODY, "at_ns": 0, "topics": []})
    for _ in range(3):
        traced.turn(1)
    traced.stop()
    assert len(list((tmp_path / "facts").iterdir())) == 1
    assert len(traced.files) == 1


def test_files_that_go_for_their_age_are_in_the_manifest(tmp_path: Path) -> None:
    earlier = Traced(tmp_path, run="earlier")
    earlier.turn(3)
    earlier.stop()
    traced = Traced(tmp_path, max_age_ns=3_600_000 * MS, file_rows=2)
    (old,) = traced.files
    os.utime(tmp_path / "records" / old, ns=(MS, MS))
    for _ in range(2):
        traced.turn(2)
    traced.stop()
    removed = [line for line in traced.said if line["event"] == "removed"]
    assert removed == [{"event": "removed", "name": old, "rows": 3, "reason": "age"}]
    assert old not in traced.files
    assert len(traced.files) == 2, "the others are young"


def test_manifests_of_runs_of_which_nothing_is_left_do_not_pile_up(tmp_path: Path) -> None:
    earlier = Traced(tmp_path, run="kept")
    earlier.turn(1)
    earlier.stop()
    folder = tmp_path / "manifest"
    for number in range(MANIFESTS_MAX + 5):
        (folder / f"ward_3-gone{number:03}.jsonl").touch()
        os.utime(folder / f"ward_3-gone{number:03}.jsonl", ns=(number, number))
    written = Manifest(folder / "ward_3-gone000.jsonl")
    Traced(tmp_path).stop()
    written.close()
    names = {path.name for path in folder.iterdir()}
    assert {"ward_3-kept.jsonl", "ward_3-run_1.jsonl", "ward_3-gone000.jsonl"} <= names
    assert sorted(names)[1] == "ward_3-gone005.jsonl"


def test_a_disk_that_lets_nothing_be_removed_costs_records_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object, **also: object) -> None:
        raise OSError(30, "Read-only file system")

    traced = Traced(tmp_path, file_rows=100)
    traced.turn(100)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        patched.setattr(files_of_records.RecordFile, "write_group", refuse)
        traced.turn(100)
    traced.turn(100, after_ms=RETRY_NS // 1_000_000)
    traced.stop()
    assert record.read(tmp_path).num_rows == 200
    assert traced.dropped["disk"] == 100


def test_the_writers_thread_outlives_a_turn_that_fails(tmp_path: Path) -> None:
    fails = iter([True])
    drained = threading.Event()
    source = Source()

    def drain() -> _core.Batch | None:
        if next(fails, False):
            raise OSError("once")
        drained.set()
        return source.columns.drain()

    options = Options(folder=str(tmp_path), every_ns=1_000_000)
    writer = TraceWriter(options, drain, node="ward 3", run="run_1")
    writer.start()
    came = drained.wait(30)
    writer.stop()
    assert came
