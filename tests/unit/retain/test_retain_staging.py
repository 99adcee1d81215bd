"""What a sink stages goes out once for a query and an epoch, whatever is committed again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giusto.errors import InvalidInput, NotRetained, TooLarge
from giusto.pipeline.source import outgoing
from giusto.retain import columns
from giusto.retain.staging import EXPIRE_NS, Staging


def body(*payloads: bytes) -> bytes:
    rows = [{"topic": "a", "payload": one, "priority": 0, "attributes": b""} for one in payloads]
    import pyarrow as pa

    return columns.encode([pa.RecordBatch.from_pylist(rows, outgoing.schema())], outgoing.schema())


def staged(staging: Staging, number: int, *payloads: bytes) -> str:
    id = f"{number:032x}-000000"
    staging.stage(id, body(*payloads))
    return id


def rest(staging: Staging, query: str, epoch: int, ids: list[str]) -> list[bytes]:
    begun = staging.begin(query, epoch, ids)
    return (
        [] if begun is None else [row["payload"] for rows in staging.rows(begun) for row in rows.to_pylist()]
    )


def test_an_epoch_that_went_out_is_not_published_again(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    begun = staging.begin("q", 0, [staged(staging, 1, b"a", b"b"), staged(staging, 2, b"c")])
    assert begun is not None
    assert [rows.num_rows for rows in staging.rows(begun)] == [2, 1]
    staging.finish(begun)
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
    stop = data.draw(st.integers(0, len(everything)))
    begun = staging.begin("q", 7, ids)
    assert begun is not None
    staging.went_out(begun, stop)
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
    staging.begin("q", 0, [journalled])
    written_ns = (tmp_path / "staged" / orphan).stat().st_mtime_ns
    assert staging.expire(written_ns) == 0
    assert staging.expire(written_ns + EXPIRE_NS + 10**12) == 1
    assert rest(staging, "q", 0, []) == [b"b"]


def test_ids_that_lead_elsewhere_and_more_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "sink", max_bytes=1_000)
    with pytest.raises(InvalidInput, match="id = "):
        staging.stage("../../elsewhere", b"x")
    with pytest.raises(TooLarge, match="rows staged by sinks"):
        staging.stage(f"{1:032x}-000000", bytes(1_001))
    keep = tmp_path / "keep"
    keep.write_bytes(b"x")
    staging.drop(["../../keep"])
    assert keep.exists()
