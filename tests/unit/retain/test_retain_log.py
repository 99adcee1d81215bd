"""A retained log: what goes in comes out by position, whatever happens to the process or the disk."""

from __future__ import annotations

import json
import random
import resource
import signal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retained_rows import attributes, batch, rows

from giusto import _core
from giusto.errors import InvalidInput, NotRetained
from giusto.retain import cursors
from giusto.retain.choosing import Choice
from giusto.retain.covering import covers
from giusto.retain.log import Bounds, Log
from giusto.retain.segment import file_name

SECOND = 1_000_000_000


def read(
    log: Log, start: int, end: int, choice: Choice | None = None, **how: bool
) -> list[tuple[int, bytes]]:
    """All rows of a range, fetched in as many parts as it takes."""
    found: list[tuple[int, bytes]] = []
    while start < end:
        part = log.fetch(start, end, choice or Choice(), most_bytes=1_000, **how)
        assert part.next > start
        for one in part.batches:
            found += zip(one.column("position").to_pylist(), one.column("payload").to_pylist(), strict=True)
        start = part.next
    return found


def make(folder: Path, **bounds: int) -> Log:
    return Log(folder, "a/#", Bounds(**bounds))


@settings(max_examples=40)
@given(st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=6), max_size=12), st.data())
def test_every_range_is_what_was_appended_there(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[list[bytes]], data: st.DataObject
) -> None:
    log = make(tmp_path_factory.mktemp("log"))
    for payloads in blocks:
        assert log.append(rows(payloads), 1, 0)
    everything = list(enumerate(payload for payloads in blocks for payload in payloads))
    assert (log.first, log.head) == (0, len(everything))
    start = data.draw(st.integers(0, len(everything)))
    end = data.draw(st.integers(start, len(everything)))
    assert read(log, start, end) == everything[start:end]
    again = make(log.folder)
    assert (again.id, again.head) == (log.id, log.head)
    assert read(again, 0, again.head) == everything


@settings(max_examples=60)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.data())
def test_what_is_torn_or_damaged_is_left_out_and_its_positions_are_not_given_again(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], data: st.DataObject
) -> None:
    log = make(tmp_path_factory.mktemp("log"))
    stops = [0]
    for number, size in enumerate(sizes):
        log.append(rows([b"%d" % number] * size), 1, 0)
        stops.append(log.bytes)
    path = log.folder / file_name(0)
    whole = path.read_bytes()
    everything = read(log, 0, log.head)
    at = data.draw(st.integers(0, len(whole) - 1))
    is_torn = data.draw(st.booleans())
    if is_torn:
        path.write_bytes(whole[:at])
    else:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])
    intact = sum(sizes[: max(count for count, stop in enumerate(stops) if stop <= at)])
    again = make(log.folder)
    found = read(again, again.first, again.head, skips_damage=True)
    assert set(found) <= set(everything)
    assert found[:intact] == everything[:intact]
    assert is_torn or again.head >= len(everything)
    head = again.head
    assert again.append(rows([b"next"]), 1, 0)
    assert read(make(log.folder), head, head + 1) == [(head, b"next")]


def test_one_damaged_byte_takes_one_block(tmp_path: Path) -> None:
    log = make(tmp_path, until_read=True)
    for number in range(10):
        log.append(rows([b"%d" % number] * 100), 1, 0)
    block_bytes = log.bytes // 10
    damage(tmp_path / file_name(0), block_bytes // 2)
    again = make(tmp_path, until_read=True)
    assert (again.first, again.head, again.losses.cut_bytes) == (0, 1_000, 0)
    with pytest.raises(NotRetained, match="positions 0 to 99 are damaged"):
        again.fetch(0, 1_000)
    part = again.fetch(50, 1_000, skips_damage=True)
    assert (part.damaged, sum(batch.num_rows for batch in part.batches)) == (50, 900)
    assert len(read(again, 100, 1_000)) == 900


def damage(path: Path, at: int) -> None:
    whole = bytearray(path.read_bytes())
    whole[at] ^= 1
    path.write_bytes(whole)


def test_the_log_goes_on_above_all_positions_that_somebody_may_know(tmp_path: Path) -> None:
    log = make(tmp_path)
    for number in range(10):
        log.append(rows([b"%d" % number] * 100), 1, 0)
    log.commit("q", 900, 1)
    log.append(rows([b"last"]), 1, 0)
    path = tmp_path / file_name(0)
    damage(path, 0)
    whole = path.read_bytes()
    again = make(tmp_path)
    assert again.first == again.head > 1_001
    assert (tmp_path / file_name(0)).with_suffix(".damaged").read_bytes() == whole
    again.append(rows([b"new"]), 1, 0)
    assert read(make(tmp_path), again.first, again.head) == [(again.first, b"new")]


def test_a_cursor_behind_the_end_leaves_a_hole(tmp_path: Path) -> None:
    log = make(tmp_path)
    for number in range(2):
        log.append(rows([b"%d" % number] * 10), 1, 0)
    log.commit("q", 15, 1)
    path = tmp_path / file_name(0)
    path.write_bytes(path.read_bytes()[: log.bytes // 2])
    again = make(tmp_path)
    assert (again.first, again.head) == (0, 15)
    again.append(rows([b"new"]), 1, 0)
    with pytest.raises(NotRetained, match=r"positions 10 to 14 were damaged; failOnDataLoss=false goes on"):
        again.fetch(5, 16)
    with pytest.raises(NotRetained, match="positions 11 to 11 were damaged"):
        again.fetch(11, 12)
    assert again.fetch(11, 12, skips_damage=True).damaged == 1
    assert [position for position, _ in read(make(tmp_path), 8, 16, skips_damage=True)] == [8, 9, 15]


def test_only_what_a_reader_asks_for_is_fetched(tmp_path: Path) -> None:
    log = make(tmp_path)
    several = [("a/1", attributes(spo2=97), b"0"), ("a/2", attributes(spo2=80), b"1"), ("a/1", b"", b"2")]
    log.append(batch([*several, ("a/1", attributes(spo2=81), b"3")]), 1, 0)
    assert read(log, 0, 4, Choice("a/1")) == [(0, b"0"), (2, b"2"), (3, b"3")]
    assert read(log, 0, 4, Choice(None, _core.Filter("spo2 < 90"))) == [(1, b"1"), (3, b"3")]
    assert read(log, 0, 4, Choice("a/1", _core.Filter("spo2 < 90"))) == [(3, b"3")]
    assert read(log, 0, 4, Choice("b")) == []


def test_a_row_says_when_it_was_received_by_the_wall_clock(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.append(rows([b"x"]), 1, 1_700_000_000 * SECOND)
    row = log.fetch(0, 1).batches[0].to_pylist()[0]
    assert row["received_at"].timestamp() == 1_700_000_000.000003
    assert row["t_received_ns"] == 3_000


def test_the_oldest_go_when_the_log_is_too_large(tmp_path: Path) -> None:
    log = make(tmp_path, max_bytes=256 * 1024)
    payload = random.randbytes(10_000)
    for wall in range(100):
        log.append(rows([payload]), wall, 0)
        log.trim(wall)
        assert log.bytes <= 256 * 1024 + 64 * 1024
    assert 0 < log.first < log.head == 100
    assert [position for position, _ in read(log, log.first, 100)] == list(range(log.first, 100))
    with pytest.raises(NotRetained, match=r"positions 0 to .* are gone: the log begins at"):
        log.fetch(0, 100)
    with pytest.raises(NotRetained, match="positions 100 to 100 are not there"):
        log.fetch(100, 101)


def test_the_oldest_go_with_age(tmp_path: Path) -> None:
    log = make(tmp_path, max_age_ns=16 * SECOND)
    for second in range(40):
        log.append(rows([b"x"]), second * SECOND, 0)
    log.trim(40 * SECOND)
    assert 20 <= log.first <= 26
    log.trim(60 * SECOND)
    assert log.first == log.head == 40
    log.append(rows([b"next"]), 60 * SECOND, 0)
    assert read(make(tmp_path), 40, 41) == [(40, b"next")]


def test_the_oldest_go_when_all_queries_have_read_them(tmp_path: Path) -> None:
    log = make(tmp_path, max_bytes=4 << 20, until_read=True)
    for _ in range(40):
        log.append(rows([bytes(40_000)]), 1, 0)
    log.trim(1)
    assert log.first == 0
    log.commit("q1", 40, 0)
    log.commit("q2", 20, 0)
    log.trim(1)
    assert 12 < log.first <= 20
    assert log.head == 40


def test_whoever_reads_in_a_removed_part_goes_on(tmp_path: Path) -> None:
    log = make(tmp_path, max_bytes=128 * 1024)
    for _ in range(10):
        log.append(rows([bytes(60_000)]), 1, 0)
    places = log._places(0, 10)
    place = next(places)
    log.trim(1)
    assert log.first > place.first
    assert not place.path.exists()
    assert len(list(places)) == 9


def test_cursors_survive_and_never_go_back(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.append(rows([b"x"] * 10), 1, 0)
    log.commit("q", 7, 5)
    log.commit("q", 3, 6)
    again = make(tmp_path)
    assert again.cursors.positions == {"q": 7}
    assert again.cursors.forget_before(6) == []
    assert again.cursors.forget_before(7) == ["q"]
    assert make(tmp_path).cursors.positions == {}
    with pytest.raises(InvalidInput, match="position = 11: expected a position up to 10"):
        log.commit("q", 11, 5)


def test_there_are_no_more_cursors_than_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cursors, "QUERIES_MAX", 2)
    log = make(tmp_path)
    log.commit("a", 0, 1)
    log.commit("b", 0, 2)
    with pytest.raises(InvalidInput, match="query = c: expected at most 2 queries"):
        log.commit("c", 0, 3)
    log.commit("a", 0, 3)
    with pytest.raises(InvalidInput, match="a name of 1 to 200 characters"):
        log.commit("", 0, 3)


def test_a_full_disk_is_counted_and_reading_goes_on(tmp_path: Path) -> None:
    log = make(tmp_path)
    assert log.append(rows([b"kept"]), 1, 0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.bytes + 500, limits[1]))
    try:
        assert not log.append(rows([bytes(5_000)] * 3), 1, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert log.losses.disk == 3
    assert log.append(rows([b"later"]), 1, 0)
    assert read(log, 0, log.head) == [(0, b"kept"), (1, b"later")]
    assert read(make(tmp_path), 0, 2) == [(0, b"kept"), (1, b"later")]


def test_a_segment_that_is_damaged_leaves_a_hole(tmp_path: Path) -> None:
    log = make(tmp_path, max_bytes=1 << 20)
    for _ in range(6):
        log.append(rows([bytes(50_000)]), 1, 0)
    files = sorted(tmp_path.glob("*.log"))
    files[2].write_bytes(files[2].read_bytes()[:-1])
    again = make(tmp_path, max_bytes=1 << 20)
    assert (again.first, again.head) == (0, 6)
    assert len(read(again, 0, 2)) == 2
    assert len(read(again, 3, 6)) == 3
    with pytest.raises(NotRetained, match="positions 2 to 2 were damaged"):
        again.fetch(0, 6)
    assert [position for position, _ in read(again, 0, 6, skips_damage=True)] == [0, 1, 3, 4, 5]


def test_a_damaged_block_is_named_and_not_served(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.append(rows([b"x" * 100] * 5), 1, 0)
    path = tmp_path / file_name(0)
    path.write_bytes(path.read_bytes()[:-50] + bytes(50))
    with pytest.raises(NotRetained, match="positions 0 to 4 are damaged"):
        log.fetch(0, 5)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    Log(tmp_path, "a")
    with pytest.raises(NotRetained, match="a log of a, format 1; choose another folder"):
        Log(tmp_path, "b")
    (tmp_path / "log.json").write_text(json.dumps({"id": "x"}))
    with pytest.raises(NotRetained, match="not the description of a log"):
        Log(tmp_path, "a")


LEVELS = st.lists(st.sampled_from(["a", "b", "+"]), min_size=1, max_size=3)
PATTERNS = st.builds(lambda levels, rest: "/".join([*levels, *rest]), LEVELS, st.sampled_from([[], ["#"]]))
TOPICS = ["a", "b", "a/b", "a/a", "b/b/a", "a/b/a/c", "c", "a/c", "c/c", "c/c/c"]


@given(PATTERNS | st.just("#"), PATTERNS | st.just("#"))
def test_a_pattern_that_covers_another_matches_all_of_its_topics(wide: str, narrow: str) -> None:
    topics = [topic for topic in TOPICS if _core.topic_matches(narrow, topic)]
    if covers(wide, narrow):
        assert all(_core.topic_matches(wide, topic) for topic in topics)
    else:
        named = ("+/#" if narrow == "#" else narrow).replace("+", "c")
        deep, shallow = named.replace("#", "c/c/c/c"), named.removesuffix("/#")
        assert not all(_core.topic_matches(wide, topic) for topic in (deep, shallow))


def test_wildcards_do_not_cover_reserved_topics() -> None:
    assert covers("$giusto/#", "$giusto/a")
    assert not covers("#", "$giusto/a")
    assert not covers("+/a", "_reply/a")
