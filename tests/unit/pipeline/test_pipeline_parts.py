"""Parts of a stream: few of them, however long it runs."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from giusto.pipeline.output import Output, read_json
from giusto.pipeline.streaming.batches import STATE, Batches
from giusto.pipeline.streaming.forgetting import forget, remove_forgotten
from giusto.pipeline.streaming.parts import (
    PARTS,
    TOGETHER,
    bundle_name,
    bundled,
    name_of,
    remove_others,
    to_bundle,
)
from giusto.pipeline.streaming.slices import State
from giusto.pipeline.streaming.stream import Stream, has_more_to_read


@given(st.integers(1, 2_000))
def test_the_number_of_parts_grows_with_the_logarithm(batches: int) -> None:
    parts: tuple[str, ...] = ()
    members = {}
    for batch in range(batches):
        part = name_of(0, batch, "t")
        parts, members[part] = (*parts, part), {batch}
        some = to_bundle(parts)
        while some:
            bundle = bundle_name(some, "t")
            members[bundle] = set().union(*(members[part] for part in some))
            parts = bundled(parts, some, bundle)
            some = to_bundle(parts)
    assert sorted(batch for part in parts for batch in members[part]) == list(range(batches))
    levels = 1 + math.ceil(math.log(batches + 1, TOGETHER))
    assert len(parts) <= TOGETHER * levels


def test_old_deliveries_are_counted_and_then_removed_also_after_a_crash(tmp_path: Path) -> None:
    for part, settled_s in (("0-000000001", 100), ("0-000000002", 200), ("unknown", 100)):
        path = tmp_path / part / "deliveries" / "part-0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"n": [1, 2, 3]}), path)
        os.utime(path, (settled_s, settled_s))
    before = State(parts=("0-000000001", "0-000000002"), forgotten=10)
    assert forget(before, tmp_path, 100) == before
    state = forget(before, tmp_path, 150)
    assert (state.forgotten, state.forgetting) == (13, ("0-000000001/deliveries/part-0.parquet",))
    # Killed in between, the next process does what the state says, and counts nothing again.
    state = State.from_dict(state.to_dict())
    for _ in range(2):
        remove_forgotten(state, tmp_path)
    assert [path.parts[-3] for path in sorted(tmp_path.rglob("*.parquet"))] == ["0-000000002", "unknown"]
    assert forget(state, tmp_path, 150) == replace(state, forgetting=())


def test_deliveries_grow_old_also_while_nothing_comes(tmp_path: Path) -> None:
    path = tmp_path / PARTS / "0-000000001" / "deliveries" / "part-0.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"n": [1, 2, 3]}), path)
    state = State(batch=7, parts=("0-000000001",))
    batches = Batches(None, None, tmp_path, None, 1, 1, state, keep_s=3600.0)
    batches.tidy()
    assert (batches.state, path.exists(), (tmp_path / STATE).exists()) == (state, True, False)
    os.utime(path, (100, 100))
    for _ in range(2):
        batches.tidy()
        assert (batches.state.batch, batches.state.forgotten, path.exists()) == (7, 3, False)
    assert State.from_dict(read_json(tmp_path / STATE)) == batches.state


def test_what_no_state_knows_is_removed(tmp_path: Path) -> None:
    for name in ("0-000000001", "0-000000002", "1-000000002"):
        (tmp_path / name / "losses").mkdir(parents=True)
    remove_others(tmp_path, ["1-000000002"])
    remove_others(tmp_path / "nowhere", [])
    assert [path.name for path in tmp_path.iterdir()] == ["1-000000002"]


def test_a_stream_that_has_caught_up_presents_what_it_left_out_while_it_was_behind(tmp_path: Path) -> None:
    stream = Stream(None, tmp_path, Output(tmp_path / "out"))
    assert not stream.is_new(State(), is_behind=False)
    settled = State(batch=3, parts=("0-000000003-t",))
    assert stream.is_new(settled, is_behind=True)
    assert not stream.is_new(State(batch=3), is_behind=True)
    stream.presented = (3, 0, 0, 0, 0)
    assert not stream.is_new(settled, is_behind=True)
    assert stream.is_new(settled, is_behind=False)
    stream.presented = (3, 0, 0, 0, 1)
    assert not stream.is_new(settled, is_behind=False)
    assert stream.is_new(replace(settled, forgotten=1), is_behind=False)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_stream_is_behind_while_much_of_what_waits_is_yet_to_be_read(unread: int, pending: int) -> None:
    assert has_more_to_read(pending // 4 + unread + 1, pending)
    assert not has_more_to_read(unread, 4 * unread + pending)
