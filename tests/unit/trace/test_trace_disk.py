"""The disk is bounded, may be full, and has what killed writers left."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracing import Traced

from giusto import record
from giusto.trace.keeping import Kept, Limits, surplus
from giusto.trace.writer import RETRY_NS

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


@pytest.mark.parametrize("limit", [0, 1, 100, 2_000, 5_000])
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
