"""What the readers decide about offsets, with a broker and a steward in this process and no Spark job."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="Spark cannot run here: pyspark is missing")

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from retaining import wait_for

import giusto
from giusto.broker import Broker
from giusto.config import BrokerConfig, Retain
from giusto.errors import InvalidInput, NotRetained
from giusto.pipeline.source import outgoing
from giusto.pipeline.source.options import parsed
from giusto.pipeline.source.outgoing import Layout
from giusto.pipeline.source.pushed import Span, taken
from giusto.pipeline.source.reader import PushingReader, TopicReader
from giusto.pipeline.source.records import RecordReader, RecordStream
from giusto.pipeline.source.remote import Remote, forget
from giusto.pipeline.source.stream import TopicStream
from giusto.pipeline.source.volatile import MemoryLog, VolatileStream
from giusto.retain import columns
from giusto.retain.staged import ROW_BYTES_MAX
from giusto.steward import Steward
from giusto.steward.records import RecordFiles

pytestmark = pytest.mark.spark


def test_what_was_removed_before_it_was_read_is_a_loss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    retain = Retain(patterns=("gone/#",), folder=str(tmp_path), max_bytes=256 * 1024)
    config = BrokerConfig(listen=("tcp://127.0.0.1:0",), retain=retain)
    with Broker(config) as broker, Steward(broker) as steward:
        log = steward.logs["gone/#"]
        with giusto.connect(broker.address) as bus, bus.advertise("gone/a") as publisher:
            for number in range(60):
                publisher.publish(bytes(20_000))
                wait_for(lambda number=number: log.head > number)  # type: ignore[misc]
        assert log.first > 0
        said = {"url": broker.address, "topic": "gone/a"}
        strict = TopicStream(parsed(said))
        begin = strict.initialOffset()
        assert begin["position"] == log.first
        behind = {**begin, "position": 0}
        with pytest.raises(NotRetained, match="removed before the query read them; failOnDataLoss=false"):
            strict.latestOffset(behind, ReadAllAvailable())
        with pytest.raises(NotRetained, match="the checkpoint is of another broker"):
            strict.latestOffset({**begin, "log": "0" * 32}, ReadAllAvailable())
        lenient = TopicStream(parsed({**said, "failOnDataLoss": "false"}))
        end = lenient.latestOffset(behind, ReadMaxRows(5))
        assert end["position"] == log.first + 5
        with caplog.at_level(logging.WARNING, "giusto.pipeline"):
            parts = lenient.partitions(behind, end)
        assert f"positions 0 to {log.first - 1} were removed" in caplog.text
        assert sum(batch.num_rows for part in parts for batch in lenient.read(part)) == 5
        lenient.commit(end)
        assert log.cursors.positions == {begin["query"]: log.first + 5}
        strict.stop()


def test_what_is_damaged_is_a_loss(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    retain = Retain(patterns=("torn",), folder=str(tmp_path))
    config = BrokerConfig(listen=("tcp://127.0.0.1:0",), retain=retain)
    with Broker(config) as broker, Steward(broker) as steward:
        log = steward.logs["torn"]
        with giusto.connect(broker.address) as bus, bus.advertise("torn") as publisher:
            for number in range(2):
                publisher.publish_many([b"x"] * 10)
                wait_for(lambda number=number: log.head == 10 * (number + 1))  # type: ignore[misc]
        (path,) = log.folder.glob("*.log")
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 4] ^= 1
        path.write_bytes(whole)
        said = {"url": broker.address, "topic": "torn", "partitions": "1"}
        strict, lenient = TopicStream(parsed(said)), TopicStream(parsed({**said, "failOnDataLoss": "false"}))
        begin = strict.initialOffset()
        end = strict.latestOffset(begin, ReadAllAvailable())
        with pytest.raises(NotRetained, match="are damaged"):
            list(strict.read(strict.partitions(begin, end)[0]))
        with caplog.at_level(logging.WARNING, "giusto.pipeline"):
            rows = sum(batch.num_rows for batch in lenient.read(lenient.partitions(begin, end)[0]))
        assert 0 < rows < 20
        assert f"{20 - rows} rows from position 0 to 19 were damaged" in caplog.text
        strict.stop()


def test_a_number_that_was_never_a_file_of_records_is_no_loss(tmp_path: Path) -> None:
    for part in ("records", "manifest"):
        (tmp_path / part).mkdir()
    names = {number: f"n-r-{number:08d}.parquet" for number in (1, 2, 4)}
    for name in names.values():
        (tmp_path / "records" / name).touch()
    lines = [json.dumps({"event": "file", "name": name}) for name in names.values()]
    (tmp_path / "manifest" / "n-r.jsonl").write_text("\n".join(lines))
    with (
        Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",))) as broker,
        Steward(broker, [RecordFiles(tmp_path)]),
    ):
        stream = RecordStream(parsed({"url": broker.address, "records": "true"}))
        span = ({"records": {"n-r": 1}}, {"records": {"n-r": 4}})
        assert [part.name for part in stream.partitions(*span)] == [names[2], names[4]]  # type: ignore[attr-defined]
        (tmp_path / "records" / names[2]).unlink()
        with pytest.raises(NotRetained, match="1 files were removed before the query read them"):
            stream.partitions(*span)
        stream.stop()


def test_the_largest_row_that_may_be_written_goes_out(tmp_path: Path) -> None:
    config = BrokerConfig(listen=("tcp://127.0.0.1:0",), retain=Retain(folder=str(tmp_path)))
    with Broker(config) as broker, Steward(broker), giusto.connect(broker.address) as bus:
        topic = "x" * 200
        subscription = bus.subscribe(topic)
        rows = pa.RecordBatch.from_pydict({"payload": [bytes(ROW_BYTES_MAX)]})
        remote = Remote(parsed({"url": broker.address}))
        ((count, body),) = outgoing.parts(iter([rows]), Layout(topic, ("payload",)))
        remote.stage(f"{1:032x}-000000", count, body)
        assert remote.publish("q", 0, [f"{1:032x}-000000"]).rows == 1
        assert len(subscription.receive(timeout="30s").payload) == ROW_BYTES_MAX
        forget(broker.address)


def test_a_volatile_log_begins_anew_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",))) as broker, giusto.connect(broker.address) as bus:
        options = parsed({"url": broker.address, "topic": "now/#", "volatile": "true"})
        first, second = VolatileStream(options), VolatileStream(options)
        begin = first.initialOffset()
        with bus.advertise("now/a") as publisher:
            publisher.publish_many([b"x"] * 10)
            wait_for(lambda: first.latestOffset(begin, ReadAllAvailable())["position"] == 10)
            end = first.latestOffset(begin, ReadMaxRows(4))
            parts = first.partitions(begin, end)
            assert sum(batch.num_rows for part in parts for batch in first.read(part)) == 4
            first.stop()
            with caplog.at_level(logging.WARNING, "giusto.pipeline"):
                assert second.partitions(begin, end) == []
                assert "a batch before the restart is lost" in caplog.text
                after = second.latestOffset(end, ReadAllAvailable())
                publisher.publish(b"later")
                wait_for(lambda: second.latestOffset(after, ReadAllAvailable())["position"] == 1)
                parts = second.partitions(end, second.latestOffset(end, ReadAllAvailable()))
                assert "what came before the restart is lost" in caplog.text
        assert [
            row for part in parts for batch in second.read(part) for row in batch["payload"].to_pylist()
        ] == [b"later"]
        with pytest.raises(InvalidInput, match="checkpoint = of another query"):
            second.latestOffset({"log": "x", "topic": "now/#", "position": 0}, ReadAllAvailable())
        second.stop()


def test_a_log_in_memory_forgets_the_oldest_when_it_is_full() -> None:
    log = MemoryLog(most=25)
    for _ in range(5):
        log.append(pa.RecordBatch.from_pylist([row()] * 10, columns.kept()), 0)
    assert (log.head, log.dropped) == (50, 30)
    assert sum(batch.num_rows for batch in log.fetch(0, 50)) == 20
    assert sum(batch.num_rows for batch in log.fetch(33, 45)) == 12
    log.trim(40)
    assert sum(batch.num_rows for batch in log.fetch(0, 50)) == 10


def row() -> dict[str, Any]:
    numbers = dict.fromkeys(("sequence", "priority", "t_intended_ns", "t_sent_ns", "t_received_ns"), 0)
    return {"topic": "a", "publisher": "p", "attributes": b"", "payload": b"", **numbers}


def test_conditions_are_taken_if_they_can_be_answered() -> None:
    def of(*conditions: Filter) -> Span | None:
        span: Span | None = Span()
        for condition in conditions:
            span = None if span is None else taken(condition, span, "ward/+")
        return span

    position, topic = ("position",), ("topic",)
    assert of(GreaterThan(position, 4), LessThanOrEqual(position, 9)) == Span(5, 10)
    assert of(GreaterThanOrEqual(position, 4), LessThan(position, 9)) == Span(4, 9)
    assert of(EqualTo(position, 7), LessThan(position, -3)) == Span(7, 0)
    assert of(EqualTo(topic, "ward/1")) == Span(topic="ward/1")
    for refused in (
        EqualTo(topic, "lab/1"),
        EqualTo(topic, "ward/+"),
        EqualTo(("payload",), b"x"),
        GreaterThan(topic, "a"),
    ):
        assert of(refused) is None
    assert of(EqualTo(topic, "ward/1"), EqualTo(topic, "ward/2")) is None


def test_what_was_taken_narrows_what_is_read(tmp_path: Path) -> None:
    config = BrokerConfig(
        listen=("tcp://127.0.0.1:0",), retain=Retain(patterns=("lab/#",), folder=str(tmp_path))
    )
    with Broker(config) as broker, Steward(broker) as steward:
        with giusto.connect(broker.address) as bus:
            for number, topic in enumerate(("lab/1", "lab/2")):
                bus.advertise(topic).publish_many([b"x"] * 30)
                wait_for(lambda number=number: steward.logs["lab/#"].head == 30 * (number + 1))  # type: ignore[misc]

        def spans(*conditions: Filter, **options: str) -> list[tuple[int, int, str | None]]:
            given = {"url": broker.address, "topic": "lab/#", "partitions": "1", **options}
            reader = PushingReader(parsed(given))
            rest = list(reader.pushFilters(list(conditions)))
            assert rest == [one for one in conditions if one.attribute == ("payload",)]  # type: ignore[attr-defined]
            # Spark hands it to whoever plans, and to every task.
            parts = pickle.loads(pickle.dumps(reader)).partitions()
            return [(part.fetch.start, part.fetch.end, part.fetch.pattern) for part in parts]

        position, of_one = ("position",), EqualTo(("topic",), "lab/2")
        assert spans() == [(0, 60, "lab/#")]
        assert spans(GreaterThanOrEqual(position, 20), LessThan(position, 55), of_one) == [(20, 55, "lab/2")]
        assert spans(EqualTo(("payload",), b"x"), EqualTo(position, 7)) == [(7, 8, "lab/#")]
        assert spans(GreaterThan(position, 3), startingPosition="9") == [(9, 60, "lab/#")]
        assert spans(LessThanOrEqual(position, 70)) == [(0, 60, "lab/#")]
        assert spans(LessThan(position, 9), startingPosition="9") == []
        assert spans(GreaterThan(position, 100)) == []
        forget(broker.address)


def test_the_task_that_spark_makes_of_nothing_has_no_rows() -> None:
    nothing = InputPartition(None)
    options = parsed({"url": "giusto://127.0.0.1:1", "topic": "a"})
    assert list(TopicReader(options).read(nothing)) == []
    assert list(RecordReader(options).read(nothing)) == []
