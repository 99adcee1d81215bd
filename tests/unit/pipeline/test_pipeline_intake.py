"""Files on their way into a stream: each once, the oldest rows first, and remembered after a crash."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sound import SCHEMA, SOUND

from giusto.pipeline import linking
from giusto.pipeline.linking import link_name, linked_name, refer
from giusto.pipeline.streaming import intake
from giusto.pipeline.streaming.intake import Intake
from giusto.pipeline.streaming.slices import Group
from giusto.pipeline.tables.files import COLUMNS, TRACE_KEY, VERSION_KEY
from giusto.pipeline.tables.table import SLICE_NS


def write(folder: Path, number: int, sent_ns: list[int], **more: Any) -> Path:
    """A record file, of which the times matter."""
    said = json.dumps({"run": "r", "node": "hub", "sequence": number, "wall_offset_ns": 7}).encode()
    rows = [dict.fromkeys(COLUMNS) | more | {"t_sent_ns": each, "t_ingress_ns": each} for each in sent_ns]
    path = folder / "records" / f"hub-{number:08}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {VERSION_KEY: b"2", TRACE_KEY: said}
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA.with_metadata(metadata)), path)
    return path


@pytest.fixture
def door(tmp_path: Path) -> Intake:
    return Intake(tmp_path / "trace", tmp_path / "stream")


def inside(door: Intake) -> set[str]:
    return {path.name for path in door.links.iterdir()}


def test_files_are_let_in_once_and_bad_ones_are_remembered(door: Intake, tmp_path: Path) -> None:
    first = write(door.records, 1, [5, 6])
    assert door.take() == 1
    shutil.copy(first, first.with_name("copy.parquet"))
    first.with_name("half.parquet").write_bytes(first.read_bytes()[:100])
    write(door.records, 2, [])
    assert door.take() == 3
    assert door.take() == 0
    assert inside(door) == {first.name}
    assert door.left_out == {"duplicate file": 2, "truncated": 0}

    # Another process knows the same, and lets nothing in again.
    again = Intake(door.records, tmp_path / "stream")
    again.begin([], [])
    assert again.take() == 0
    assert (again.left_out, again.unread) == (door.left_out, {first.name})
    assert [(file.rows, file.wall_offset_ns) for file in again.files([first.name])] == [(2, 7)]


def test_a_file_stays_until_it_is_not_needed_whoever_removes_it_elsewhere(door: Intake) -> None:
    path = write(door.records, 1, [5])
    door.take()
    path.unlink()
    assert pq.read_table(door.files([path.name])[0].path).num_rows == 1
    assert door.bytes([path.name]) > 0
    door.remove([path.name])
    assert inside(door) == set()


def test_older_rows_go_first_and_the_others_wait_while_spark_is_busy(
    door: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "ROWS_AT_ONCE", 2)
    write(door.records, 1, [900])
    write(door.records, 2, [10, 700])
    write(door.records, 3, [30])
    assert door.take() == 2
    assert inside(door) == {"hub-00000003.parquet", "hub-00000002.parquet"}
    assert door.take() == 0
    assert door.unread_rows == 3
    # As soon as a micro-batch has them, the next may come.
    door.was_read(["hub-00000002.parquet", "hub-00000003.parquet"])
    assert door.unread_rows == 0
    assert door.take() == 1


def test_the_rows_of_a_file_are_counted_once_and_known_after_a_crash(door: Intake) -> None:
    good = write(door.records, 1, [5, SLICE_NS, SLICE_NS + 1], **SOUND)
    bad = write(door.records, 2, [5])
    door.take()
    counted = (Group(good.name, "r", 0, None, 1, 5), Group(good.name, "r", 1, None, 2, SLICE_NS + 1))
    assert door.groups == {good.name: counted, bad.name: None}
    again = Intake(door.records, door.journal.parent)
    assert again.groups == door.groups
    again.remove([good.name])
    again.begin([], [])
    assert again.groups == {bad.name: None}


def test_a_file_that_was_let_in_before_a_crash_but_not_written_down_is_let_in_once(door: Intake) -> None:
    path = write(door.records, 1, [5])
    door.take()
    door.journal.unlink()
    again = Intake(door.records, door.journal.parent)
    (again.links / ".new-half").write_text("half")
    path.unlink()
    again.begin([], [])
    assert again.take() == 0
    assert inside(again) == again.unread == set(again.good) == {path.name}
    assert Intake(door.records, door.journal.parent).good.keys() == again.good.keys()


def test_files_on_another_file_system_are_copied(door: Intake, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(linking.os, "link", refuse)
    path = write(door.records, 1, [5])
    door.take()
    assert (door.links / path.name).read_bytes() == path.read_bytes()


def test_a_page_that_cannot_be_read_keeps_a_file_out_and_a_whole_copy_is_let_in(door: Intake) -> None:
    path = write(door.records, 1, list(range(1000)))
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(200) + whole[204:])
    door.take()
    assert (inside(door), door.left_out) == (set(), {"corrupt": 1000})
    path.with_name("copy.parquet").write_bytes(whole)
    door.take()
    assert inside(door) == {"copy.parquet"}


def test_a_file_that_was_seen_half_copied_is_let_in_when_it_is_whole(door: Intake) -> None:
    path = write(door.records, 1, [5])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert (door.take(), door.take()) == (1, 0)
    assert door.left_out == {"truncated": 0}
    # Another process knows what it has seen.
    door = Intake(door.records, door.journal.parent)
    assert door.take() == 0
    path.write_bytes(whole)
    assert door.take() == 1
    assert (inside(door), door.bad) == ({path.name}, {})
    assert Intake(door.records, door.journal.parent).bad == {}


def test_a_line_that_was_not_written_to_its_end_spoils_no_other(door: Intake) -> None:
    write(door.records, 1, [5])
    door.take()
    with door.journal.open("a") as journal:
        journal.write('{"name": "hub-0000')
    door = Intake(door.records, door.journal.parent)
    second = write(door.records, 2, [6])
    door.take()
    again = Intake(door.records, door.journal.parent)
    assert second.name in again.good
    assert again.good.keys() == door.good.keys()


def test_a_file_that_is_removed_before_it_is_looked_at_was_never_there(
    door: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(door.records, 1, [5])
    monkeypatch.setattr(intake, "record_files", lambda _: [path])
    path.unlink()
    door.take()
    assert (door.bad, inside(door)) == ({}, set())
    assert not refer(path, path.with_name("link"))


def test_files_with_strange_names_are_known_by_plain_ones(door: Intake) -> None:
    path = write(door.records, 1, [5])
    strange = path.rename(path.with_name("ward:3 50%20 [a].parquet"))
    door.take()
    assert inside(door) == {"ward~3A3~2050~2520~20~5Ba~5D.parquet"} == door.unread
    assert door.names == {strange.name}
    # Killed before it was written down.
    door.journal.unlink()
    again = Intake(door.records, door.journal.parent)
    again.begin([], [])
    assert (again.take(), again.names) == (0, {strange.name})


def test_a_file_with_a_long_name_is_known_again_after_a_crash(door: Intake) -> None:
    path = write(door.records, 1, [5])
    path.rename(path.with_name(30 * "病" + ".parquet"))
    door.take()
    door.journal.unlink()
    again = Intake(door.records, door.journal.parent)
    again.begin([], [])
    assert (again.take(), again.unread_rows) == (0, 1)
    assert inside(again) == again.unread == set(again.good)


def test_a_name_that_is_no_text_keeps_only_its_own_file_out(door: Intake) -> None:
    path = write(door.records, 1, [5])
    nameless = path.with_name(os.fsdecode(b"\xfcbersicht.parquet"))
    shutil.copy(path, nameless)
    door.take()
    assert inside(door) == {path.name}
    (bad,) = door.bad.values()
    assert (bad.name, bad.reason) == ("\\xfcbersicht.parquet", "unreadable")
    again = Intake(door.records, door.journal.parent)
    again.begin([], [])
    assert (again.take(), again.bad) == (0, door.bad)


def test_a_link_to_a_file_is_as_good_as_the_file(door: Intake, tmp_path: Path) -> None:
    path = write(door.records, 1, [5])
    elsewhere = path.rename(tmp_path / "elsewhere.parquet")
    path.symlink_to(Path("..", "..", elsewhere.name))
    door.take()
    assert (door.links / path.name).read_bytes() == elsewhere.read_bytes()
    assert refer(path, tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == elsewhere.read_bytes()


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=60))
def test_every_name_has_a_plain_one_of_its_own(name: str) -> None:
    plain = link_name(name)
    assert len(plain) <= 220
    assert set(plain) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")
    assert plain[0] not in "._"
    assert plain.startswith("~~") or linked_name(plain) == name
    assert link_name("hub-1-00000001.parquet") == "hub-1-00000001.parquet"
