"""The steward beside a real broker: it keeps what is published, answers for it, and publishes once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import giusto
from giusto.broker import Broker
from giusto.config import BrokerConfig, Retain
from giusto.errors import Closed, InvalidInput, NotRetained, RequestFailed
from giusto.retain import columns, requests
from giusto.retain.journal import Epoch
from giusto.retain.requests import (
    Commit,
    Fetch,
    FetchFile,
    Find,
    Head,
    LogIs,
    Part,
    Publish,
    Published,
    Stage,
    Written,
)
from giusto.retain.staged import schema
from giusto.retain.staging import Staging
from giusto.steward import Steward
from giusto.steward.causes import causes
from giusto.steward.desk import Readers
from giusto.steward.handover import Handover
from giusto.steward.keeper import BLOCK_BYTES, blocks
from giusto.steward.records import RecordFiles
from giusto.steward.steward import duties, folder_name

WATCHDOG_S = 120.0
Answer = TypeVar("Answer")


@contextmanager
def serving(folder: Path, *patterns: str, **retain: Any) -> Iterator[giusto.Bus]:
    """A client of a broker that retains topics."""
    kept = Retain(patterns=patterns, folder=str(folder), **retain)
    with (
        Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",), retain=kept)) as broker,
        Steward(broker),
        giusto.connect(broker.address) as bus,
    ):
        yield bus


def ask(bus: giusto.Bus, topic: str, question: Any, kind: type[Answer]) -> Answer:
    return requests.decode(bus.request(topic, requests.encode(question), timeout="60s").payload, kind)


def find(bus: giusto.Bus, pattern: str) -> LogIs:
    return ask(bus, "$giusto/log/find", Find(pattern), LogIs)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WATCHDOG_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def fetch(bus: giusto.Bus, asked: Fetch) -> list[dict[str, Any]]:
    part = ask(bus, "$giusto/log/fetch", asked, Part)
    assert len(part.body) == part.size
    return columns.decode(part.body).to_pylist() if part.body else []


def test_what_is_published_is_kept_and_found_again_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path, "ward/#", "lab/#") as bus:
        with bus.advertise("ward/3") as publisher:
            for number in range(100):
                publisher.publish(b"%d" % number, priority=3, attributes={"n": number})
        wait_for(lambda: find(bus, "ward/3").head == 100)
        log = find(bus, "ward/+")
        assert (log.pattern, log.first, log.lost) == ("ward/#", 0, {})
        fetch(bus, Fetch(log.id, 0, 40, query="q"))
        ask(bus, "$giusto/log/commit", Commit(log.id, "q", 60), requests.Done)
    with serving(tmp_path, "ward/#") as bus:
        again = ask(bus, "$giusto/log/head", Head(log.id), LogIs)
        assert (again.head, again.cursors) == (100, {"q": 40})
        found = fetch(bus, Fetch(log.id, 10, 60, "ward/3", "n >= 50"))
        assert [row["payload"] for row in found] == [b"%d" % number for number in range(50, 60)]
        assert [row["position"] for row in found] == list(range(50, 60))
        assert {row["priority"] for row in found} == {3}


def test_what_is_not_kept_is_said_with_what_is(tmp_path: Path) -> None:
    with serving(tmp_path, "ward/#", "lab/+") as bus:
        for pattern in ("#", "lab/#", "other"):
            with pytest.raises(RequestFailed, match=r"not retained: the broker keeps ward/#, lab/\+"):
                find(bus, pattern)
        with pytest.raises(RequestFailed, match="the checkpoint is of another broker"):
            ask(bus, "$giusto/log/head", Head("0" * 32), LogIs)
        log = find(bus, "ward/1")
        with pytest.raises(RequestFailed, match="positions 0 to 0 are not there"):
            fetch(bus, Fetch(log.id, 0, 1))
        with pytest.raises(RequestFailed, match="expected Fetch"):
            bus.request("$giusto/log/fetch", b"\xc1")
        listed = ask(bus, "$giusto/log/list", requests.Done(), list[LogIs])
        assert [one.pattern for one in listed] == ["ward/#", "lab/+"]


def test_a_query_is_done_with_no_more_than_it_fetched(tmp_path: Path) -> None:
    with serving(tmp_path, "ward/#", until="read") as bus:
        with bus.advertise("ward/3") as publisher:
            publisher.publish_many([b"x"] * 100)
        wait_for(lambda: find(bus, "ward/3").head == 100)
        id = find(bus, "ward/3").id

        def commit_read(query: str, position: int) -> dict[str, int]:
            ask(bus, "$giusto/log/commit", Commit(id, query, position), requests.Done)
            return find(bus, "ward/3").cursors

        assert commit_read("stranger", 100) == {}
        fetch(bus, Fetch(id, 0, 30, query="q"))
        assert commit_read("q", 20) == {"q": 20}
        assert commit_read("q", 2**40) == {"q": 30}
        with pytest.raises(RequestFailed, match="a name of 1 to 200 characters"):
            fetch(bus, Fetch(id, 0, 30, query="q" * 201))
    with serving(tmp_path, "ward/#") as bus:
        assert commit_read("q", 40) == {"q": 30}
        fetch(bus, Fetch(id, 30, 50, query="q"))
        assert commit_read("q", 40) == {"q": 40}


def test_how_far_queries_have_fetched_is_known_of_so_many_only() -> None:
    readers = Readers(most=2)
    for query in ("a", "b", "a", "c"):
        readers.fetched("log", query, 5)
    readers.fetched("log", "a", 3)
    assert [readers.done_with("log", query, 9) for query in "abc"] == [5, 0, 5]


@pytest.mark.parametrize("pattern", ["a/#/#", "", "a//b", "#/a"])
def test_what_is_no_pattern_is_not_found(tmp_path: Path, pattern: str) -> None:
    with serving(tmp_path, "#") as bus, pytest.raises(RequestFailed, match="InvalidInput"):
        find(bus, pattern)


@pytest.mark.parametrize("name", ["\0.parquet", "a" * 5_000 + ".parquet", "../x.parquet", ".x.parquet", "x"])
def test_what_is_no_file_of_records_is_refused(tmp_path: Path, name: str) -> None:
    files = RecordFiles(tmp_path)
    with pytest.raises(NotRetained, match="not a file of records"):
        files.fetch(FetchFile(name, 0))
    with pytest.raises(NotRetained, match="not a file of records"):
        files.fetch(FetchFile("x.parquet", -1))
    (tmp_path / "records" / "x.parquet").mkdir(parents=True)
    with pytest.raises(NotRetained, match=r"^x\.parquet: cannot be read: Is a directory$"):
        files.fetch(FetchFile("x.parquet", 0))


def test_a_file_that_the_disk_did_not_take_was_never_there(tmp_path: Path) -> None:
    files = RecordFiles(tmp_path)
    assert files.written(Written("n-r", 1, 4)).files == 3, "without a manifest nobody knows"
    (tmp_path / "manifest").mkdir()
    said = [{"event": "file", "name": f"n-r-{number:08d}.parquet"} for number in (1, 2, 4, 5)]
    manifest = tmp_path / "manifest" / "n-r.jsonl"
    manifest.write_text("".join(json.dumps(one) + "\n" for one in [*said, {"event": "ended"}]))
    assert files.written(Written("n-r", 1, 4)).files == 2
    assert files.written(Written("n-r", 0, 9)).files == 4
    with pytest.raises(NotRetained, match="not a writer of records"):
        files.written(Written("../n-r", 1, 4))


def test_an_answer_that_is_too_long_comes_in_parts(tmp_path: Path) -> None:
    payload = bytes(range(256)) * 12_000
    with serving(tmp_path, "image/#") as bus:
        offer = giusto.Offer(max_size=4_000_000)
        with bus.advertise("image/1", offer) as publisher:
            publisher.publish(payload)
        wait_for(lambda: find(bus, "image/1").head == 1)
        asked, body = Fetch(find(bus, "image/1").id, 0, 1), b""
        while True:
            part = ask(bus, "$giusto/log/fetch", Fetch(asked.log, 0, 1, skip=len(body)), Part)
            body += part.body
            if len(body) == part.size:
                break
        assert part.size > 3_000_000
        assert columns.decode(body).column("payload").to_pylist() == [payload]


def staged(bus: giusto.Bus, number: int, *payloads: bytes, topic: str = "out") -> str:
    rows = [{"topic": topic, "payload": one, "priority": 1, "attributes": b""} for one in payloads]
    batch = pa.RecordBatch.from_pylist(rows, schema())
    id = f"{number:016x}{0:016x}-000000"
    body = columns.encode([batch], schema())
    ask(bus, "$giusto/sink/stage", Stage(id, len(rows), body), requests.Done)
    return id


def commit(bus: giusto.Bus, query: str, epoch: int, *ids: str) -> Published:
    return ask(bus, "$giusto/sink/commit", Publish(query, epoch, list(ids)), Published)


def test_an_epoch_goes_out_once_for_a_query(tmp_path: Path) -> None:
    with serving(tmp_path) as bus:
        subscription = bus.subscribe("out")

        first = staged(bus, 1, b"a", b"b")
        assert subscription.available() == 0
        assert commit(bus, "q", 0, first) == Published(2, again=False)
        assert commit(bus, "q", 0, staged(bus, 2, b"a", b"b")) == Published(0, again=True)
        assert commit(bus, "q", 1, staged(bus, 3, b"c")) == Published(1, again=False)
        assert commit(bus, "other", 0, staged(bus, 4, b"d")) == Published(1, again=False)
        with pytest.raises(RequestFailed, match="1 of 1 staged parts are gone"):
            commit(bus, "q", 2, f"{9:032x}-000000")
        received = [subscription.receive(timeout="30s").payload for _ in range(4)]
        assert received == [b"a", b"b", b"c", b"d"]
    with serving(tmp_path) as bus:
        again = Publish("q", 1, [staged(bus, 5, b"c")])
        assert ask(bus, "$giusto/sink/commit", again, Published) == Published(0, again=True)


def test_an_epoch_that_was_torn_does_not_keep_the_broker_from_starting(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "sink")
    id = f"{1:032x}-000000"
    (tmp_path / "sink" / "staged" / id).write_bytes(b"junk")
    staging.journal(Epoch("q", 0, [id]))
    with serving(tmp_path) as bus:
        with pytest.raises(RequestFailed, match="rows = 4 bytes: expected an Arrow stream"):
            ask(bus, "$giusto/sink/stage", Stage(id, 1, b"junk"), requests.Done)
        assert commit(bus, "q", 0, staged(bus, 2, b"a")) == Published(1, again=False)


def test_nothing_of_an_epoch_goes_out_if_one_of_its_topics_does_not_take_it(tmp_path: Path) -> None:
    with serving(tmp_path) as bus, giusto.connect(bus.address) as other:
        other.advertise("promised", giusto.Offer(min_sep="10ms", max_size=64))
        bus.subscribe("promised", giusto.Need(max_latency="50ms"))
        subscription = bus.subscribe("out")
        ids = [staged(bus, 1, b"a", b"b"), staged(bus, 2, b"c", topic="promised")]
        for _ in range(2):
            with pytest.raises(RequestFailed):
                commit(bus, "q", 5, *ids)
        assert commit(bus, "q", 5, staged(bus, 3, b"mended")) == Published(1, again=False)
        assert subscription.receive(timeout="30s").payload == b"mended"


def test_a_part_is_noted_when_the_broker_has_got_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    publishers, went_out = giusto.Bus.publishers, Staging.went_out

    def asked(bus: giusto.Bus, topic: str) -> Any:
        done.append("got")
        return publishers(bus, topic)

    def noted(staging: Staging, epoch: Epoch, rows: int) -> Epoch:
        done.append(f"{rows} noted")
        return went_out(staging, epoch, rows)

    monkeypatch.setattr(giusto.Bus, "publishers", asked)
    monkeypatch.setattr(Staging, "went_out", noted)
    with serving(tmp_path) as bus:
        ids = [staged(bus, 1, b"a"), staged(bus, 2, b"b", b"b"), staged(bus, 3, b"c", b"c", b"c")]
        assert commit(bus, "q", 0, *ids) == Published(6, again=False)
    assert done == ["got", "got", "1 noted", "got", "2 noted", "3 noted"]


def test_rows_are_staged_also_while_an_epoch_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_publishing, may_go_on = threading.Event(), threading.Event()
    finish = Staging.finish

    def slow(staging: Staging, epoch: Epoch) -> None:
        is_publishing.set()
        assert may_go_on.wait(WATCHDOG_S)
        finish(staging, epoch)

    monkeypatch.setattr(Staging, "finish", slow)
    with serving(tmp_path) as bus:
        answer = threading.Thread(target=commit, args=(bus, "other", 0, staged(bus, 2, b"b")))
        answer.start()
        assert is_publishing.wait(WATCHDOG_S)
        staged(bus, 3, b"while the other is being published")
        may_go_on.set()
        answer.join()


def test_the_name_of_a_query_cannot_be_used_up(tmp_path: Path) -> None:
    with serving(tmp_path) as bus:
        assert commit(bus, "q", 0, staged(bus, 1, b"a")) == Published(1, again=False)
        with pytest.raises(RequestFailed, match="expected 0 or 1"):
            commit(bus, "q", 2**62)
        assert commit(bus, "q", 1) == Published(0, again=False)
        assert commit(bus, "q", 1, staged(bus, 2, b"b")) == Published(1, again=False)
        assert commit(bus, "q", 1, staged(bus, 3, b"b")) == Published(0, again=True)
        with pytest.raises(RequestFailed, match="expected 1 or 2"):
            commit(bus, "q", 0, staged(bus, 4, b"a"))


def test_a_broker_without_settings_keeps_nothing() -> None:
    assert not {duty.name for duty in duties(BrokerConfig())} & {"keeper", "desk", "sink", "records"}
    with pytest.raises(InvalidInput, match=r"retain\.patterns = a: expected retain\.folder beside it"):
        Retain(patterns=("a",))


def test_a_folder_belongs_to_one_broker_at_a_time(tmp_path: Path) -> None:
    config = BrokerConfig(retain=Retain(folder=str(tmp_path)))
    with (
        serving(tmp_path, "a"),
        pytest.raises(InvalidInput, match="a folder of its own: another broker uses this one"),
    ):
        duties(config)
    assert "desk" in {duty.name for duty in duties(config)}


def test_no_two_patterns_share_a_folder() -> None:
    patterns = ["a/#", "a/+", "a_#", "A/#", "a" * 100, "a" * 101, "ü"]
    assert len({folder_name(pattern) for pattern in patterns}) == len(patterns)


class Sized:
    """As much of a message as matters for blocks."""

    def __init__(self, size: int, attributes: int = 0) -> None:
        self.payload, self.attribute_block = bytes(size), bytes(attributes)


def test_blocks_are_neither_too_large_nor_empty() -> None:
    messages: Any = [Sized(size) for size in [300_000] * 3 + [10] * 20_000 + [2_000_000]]
    made = list(blocks(messages))
    assert [one for several in made for one in several] == messages
    assert all(several and sum(len(one.payload) for one in several[:-1]) < BLOCK_BYTES for several in made)
    assert list(blocks([])) == []
    attributed: Any = [Sized(0, 200_000)] * 4
    assert [len(several) for several in blocks(attributed)] == [2, 2]


def test_what_waits_to_be_written_is_bounded_by_its_bytes() -> None:
    handover = Handover(most_bytes=1_000)
    several: Any = [Sized(300), Sized(200, 100)]
    assert handover.put(several) == 800
    handed_over = threading.Event()

    def more() -> None:
        handover.put(several)
        handed_over.set()
        handover.end()

    thread = threading.Thread(target=more)
    thread.start()
    assert not handed_over.wait(0.05)
    assert handover.get(None) is several
    assert handed_over.wait(WATCHDOG_S)
    assert handover.get(None) is several
    assert handover.get(None) is None
    large: Any = [Sized(5_000)]
    thread.join()
    lone = Handover(most_bytes=1_000)
    assert lone.put(large) == 5_100, "what is too large goes alone"
    assert lone.get(0) is large
    assert lone.get(0) == []


def test_a_disk_that_fails_is_counted_and_the_keeper_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> int:
        raise OSError(30, "Read-only file system")

    retain = Retain(patterns=("a",), folder=str(tmp_path))
    config = BrokerConfig(listen=("tcp://127.0.0.1:0",), retain=retain)
    with (
        Broker(config) as broker,
        Steward(broker) as steward,
        giusto.connect(broker.address) as bus,
        bus.advertise("a") as publisher,
    ):
        log = steward.logs["a"]
        with monkeypatch.context() as patched:
            patched.setattr(log, "trim", fails)
            publisher.publish(b"1")
            wait_for(lambda: log.head == 1)
            publisher.publish(b"2")
            wait_for(lambda: log.head == 2)
            patched.setattr(log, "append", fails)
            publisher.publish(b"3")
            wait_for(lambda: find(bus, "a").lost == {"rows": 1})
            wait_for(lambda: bus.status().unkept == {"a": {"rows": 1}})
        publisher.publish(b"4")
        wait_for(lambda: log.head == 3)


def test_what_a_publisher_sent_too_soon_is_missing_for_that_reason(tmp_path: Path) -> None:
    with serving(tmp_path, "a/#") as bus, bus.advertise("a/b", giusto.Offer(min_sep="50ms")) as publisher:

        def has_gap() -> bool:
            publisher.publish(b"x")
            return bool(find(bus, "a/b").lost)

        wait_for(has_gap)
        wait_for(lambda: set(bus.status().unkept.get("a/#", {})) == {"policed"})
        [topic] = [one for one in bus.status().topics if one.topic == "a/b"]
        assert 0 < find(bus, "a/b").lost["policed"] <= topic.counters["policed"]


REASONS = st.dictionaries(st.sampled_from(["policed", "overflow", "dropped"]), st.integers(0, 50))


@given(st.integers(0, 100), REASONS)
def test_reasons_are_given_for_as_many_as_are_missing_and_no_more(gaps: int, dropped: dict[str, int]) -> None:
    found = causes(gaps, dropped)
    assert sum(found.values()) == min(gaps, sum(dropped.values()))
    assert all(0 < count <= dropped[reason] for reason, count in found.items())


class Ending:
    """A duty that may fail at its end."""

    def __init__(self, name: str, ended: list[str], error: Exception | None = None) -> None:
        self.name, self.remarks, self._ended, self._error = name, list[str](), ended, error

    def begin(self, bus: giusto.Bus) -> None:
        self.bus = bus

    def tend(self) -> None:
        """Nothing to do."""

    def end(self) -> None:
        self._ended.append(self.name)
        if self._error is not None:
            raise self._error


def test_all_duties_end_also_if_one_of_them_fails() -> None:
    ended: list[str] = []
    several = [Ending("first", ended, OSError("gone")), Ending("second", ended)]
    with Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",))) as broker:
        steward = Steward(broker, several)
        steward.start()
        with pytest.raises(OSError, match="gone"):
            steward.stop()
    assert ended == ["first", "second"]
    with pytest.raises(Closed):
        several[1].bus.subscribe("a")
