"""What a sink stages goes out once for a query and an epoch, whatever is committed again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giusto.errors import GiustoError, InvalidInput, NotRetained, TooLarge
from giusto.retain import columns
from giusto.retain.journal import BATCH_KEPT_NS, Epoch, Journals
from giusto.retain.staged import ROW_BYTES_MAX, schema
from giusto.retain.staging import EXPIRE_NS, Staging


def encoded(**row: Any) -> bytes:
    given = {"topic": "a", "payload": b"", "priority": 0, "attributes": b"", **row}
    return columns.encode([pa.RecordBatch.from_pylist([given], schema())], schema())


def body(*payloads: bytes) -> bytes:
    rows = [{"topic": "a", "payload": one, "priority": 0, "attributes": b""} for one in payloads]
    return columns.encode([pa.RecordBatch.from_pylist(rows, schema())], schema())


def begin(staging: Staging, query: str, epoch: int, ids: list[str]) -> Epoch:
    begun = staging.begin(query, epoch, ids)
    assert begun is not None
    return staging.journal(begun)


def staged(staging: Staging, number: int, *payloads: bytes) -> str:
    id = f"{number:016x}{0:016x}-000000"
    staging.stage(id, body(*payloads))
    return id


def rest(staging: Staging, query: str, epoch: int, ids: list[str]) -> list[bytes]:
    begun = staging.begin(query, epoch, ids)
    return (
        [] if begun is None else [row["payload"] for rows in staging.rows(begun) for row in rows.to_pylist()]
    )


def test_an_epoch_that_went_out_is_not_published_again(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    begun = begin(staging, "q", 0, [staged(staging, 1, b"a", b"b"), staged(staging, 2, b"c")])
    assert [rows.num_rows for rows in staging.rows(begun)] == [2, 1]
    staging.finish(staging.went_out(begun, 3))
    assert staging.bytes == 0
    assert rest(Staging(tmp_path), "q", 0, [staged(staging, 3, b"a", b"b", b"c")]) == []
    assert staging.bytes == 0, "what was staged in vain is gone"
    assert rest(staging, "another", 0, [staged(staging, 4, b"d")]) == [b"d"]
    assert rest(staging, "q", 1, [staged(staging, 5, b"e")]) == [b"e"]


@settings(max_examples=40)
@given(st.lists(st.lists(st.binary(max_size=3), min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_publishing_goes_on_where_it_stopped(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[bytes]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("sink")
    staging = Staging(folder)
    ids = [staged(staging, number, *payloads) for number, payloads in enumerate(parts)]
    everything = [payload for payloads in parts for payload in payloads]
    stop = data.draw(st.integers(1, len(everything)))
    staging.went_out(begin(staging, "q", 7, ids), stop)
    again = Staging(folder)
    assert [one.published for one in again.unfinished()] == [stop]
    other = staged(again, 99, b"staged by the next attempt")
    assert rest(again, "q", 7, [other]) == everything[stop:]


def test_what_is_gone_is_said_and_nothing_is_published(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    there = staged(staging, 1, b"a")
    with pytest.raises(NotRetained, match="epoch 3 of q: 1 of 2 staged parts are gone; run the epoch again"):
        staging.begin("q", 3, [there, f"{2:032x}-000000"])
    assert staging.last("q") is None
    assert rest(staging, "q", 3, [there]) == [b"a"]


def test_what_nobody_commits_expires_and_what_is_journalled_does_not(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    orphan, journalled = staged(staging, 1, b"a"), staged(staging, 2, b"b")
    begin(staging, "q", 0, [journalled])
    written_ns = (tmp_path / "staged" / orphan).stat().st_mtime_ns
    assert staging.expire(written_ns) == 0
    assert staging.expire(written_ns + EXPIRE_NS + 10**12) == 1
    assert rest(staging, "q", 0, []) == [b"b"]


def test_ids_that_lead_elsewhere_and_more_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "sink", max_bytes=1_000)
    with pytest.raises(InvalidInput, match="id = "):
        staging.stage("../../elsewhere", b"x")
    with pytest.raises(TooLarge, match="rows staged by sinks"):
        staging.stage(f"{1:032x}-000000", body(bytes(1_001)))
    keep = tmp_path / "keep"
    keep.write_bytes(b"x")
    staging.drop(["../../keep"])
    assert keep.exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"junk", "rows = 4 bytes: expected an Arrow stream"),
        (b"", "rows = 0 bytes: expected an Arrow stream"),
        (encoded()[:-200], "expected an Arrow stream"),
        (columns.encode([], columns.kept()), "expected columns topic, payload, priority, attributes"),
        (encoded(topic="a/#"), 'column topic = "a/#"'),
        (encoded(topic=None), "column topic = null"),
        (encoded(payload=None), "column payload = null"),
        (encoded(priority=8), "column priority = 8 to 8"),
        (encoded(priority=-1), "column priority = -1 to -1"),
        (encoded(attributes=b"\xff\xff\xff"), "column attributes = 3 bytes"),
        (encoded(payload=bytes(ROW_BYTES_MAX + 1)), f"at most {ROW_BYTES_MAX} bytes"),
    ],
)
def test_what_cannot_be_published_is_not_staged(tmp_path: Path, given: bytes, said: str) -> None:
    staging = Staging(tmp_path)
    with pytest.raises(GiustoError, match=said):
        staging.stage(f"{1:032x}-000000", given)
    assert staging.bytes == 0


def test_an_epoch_whose_parts_were_torn_is_put_aside_and_may_begin_anew(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    torn = staged(staging, 1, b"a")
    begin(staging, "q", 4, [torn])
    (tmp_path / "staged" / torn).write_bytes(b"to")
    again = Staging(tmp_path)
    (unfinished,) = again.unfinished()
    with pytest.raises(NotRetained, match=f"epoch 4 of q: staged part {torn} cannot be read"):
        again.topics(unfinished)
    again.put_aside(unfinished)
    assert Staging(tmp_path).unfinished() == []
    assert len(list((tmp_path / "epochs").glob("*.damaged"))) == 1
    assert rest(again, "q", 4, [staged(again, 2, b"b")]) == [b"b"]


def test_a_journal_that_cannot_be_read_holds_nothing_up(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    begin(staging, "q", 4, [staged(staging, 1, b"a")])
    (path,) = (tmp_path / "epochs").glob("*.json")
    path.write_text("[]")
    again = Staging(tmp_path)
    assert again.unfinished() == []
    assert [one.suffix for one in (tmp_path / "epochs").iterdir()] == [".damaged"]


def test_an_epoch_of_which_nothing_went_out_is_replaced_by_the_next_attempt(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    begin(staging, "q", 4, [staged(staging, 1, b"cannot go out")])
    begin(staging, "q", 4, [staged(staging, 2, b"mended")])
    assert [path.name for path in (tmp_path / "staged").iterdir()] == [f"{2:016x}{0:016x}-000000"]


def test_what_failed_attempts_left_goes_when_their_query_commits(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    others = staged(staging, 2, b"of another query")
    left = f"{1:016x}{7:016x}-000003"
    staging.stage(left, body(b"of a task that failed"))
    begin(staging, "q", 0, [staged(staging, 1, b"a")])
    names = {path.name for path in (tmp_path / "staged").iterdir()}
    assert names == {others, f"{1:016x}{0:016x}-000000"}
    staging.finish(begin(staging, "empty", 9, []))
    assert rest(staging, "empty", 9, []) == []
    assert rest(staging, "empty", 9, [staged(staging, 3, b"not stolen")]) == [b"not stolen"]


def test_epochs_follow_each_other(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    staging.finish(staging.went_out(begin(staging, "q", 6, [staged(staging, 1, b"a")]), 1))
    for epoch in (0, 5, 8, 2**62):
        with pytest.raises(InvalidInput, match=f"epoch of q = {epoch}: expected 6 or 7; .* option query"):
            staging.begin("q", epoch, [staged(staging, 2, b"b")])
    staging.went_out(begin(staging, "q", 7, [staged(staging, 3, b"c", b"d")]), 1)
    with pytest.raises(InvalidInput, match="expected 7, which did not go out whole"):
        staging.begin("q", 8, [])
    for name in ("", "q" * 201):
        with pytest.raises(InvalidInput, match=r"query = .* characters"):
            staging.begin(name, 0, [])


def test_what_an_epoch_waits_for_is_not_dropped(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    id = staged(staging, 1, b"a")
    begun = begin(staging, "q", 0, [id])
    staging.drop([id])
    assert [rows.num_rows for rows in staging.rows(begun)] == [1]


def test_journals_of_batches_go_after_an_hour_and_there_are_never_too_many(tmp_path: Path) -> None:
    journals = Journals(tmp_path, queries_max=3)
    for number in range(5):
        journals.note(Epoch(f"batch {number}", 0, [], is_done=True), number)
    journals.note(Epoch("batch waits", 0, ["id"]), 0)
    journals.note(Epoch("q0", 3, [], is_done=True), 0)
    journals.forget(BATCH_KEPT_NS + 4)
    assert len(list(tmp_path.iterdir())) == 3
    assert journals.last("batch 3") is None
    assert journals.last("batch 4") == Epoch("batch 4", 0, [], is_done=True)
    for number in range(1, 5):
        journals.note(Epoch(f"q{number}", 3, [], is_done=True), 0)
    journals.forget(0)
    assert [journals.last(f"q{number}") is None for number in range(5)] == [True, True, False, False, False]
    assert Journals(tmp_path).unfinished() == [Epoch("batch waits", 0, ["id"])]


def test_a_staged_part_is_on_the_disk_before_it_is_answered_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_size), fsync(file)))
    staged(Staging(tmp_path), 1, b"a")
    assert synced == [len(body(b"a"))]
