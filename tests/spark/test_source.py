"""Spark reads retained topics by position and writes to topics once, with a real broker beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from retaining import Retaining, log_of, publish, wait_for
from topics import numbers, payloads, read, stream

import giusto
from giusto.pipeline.session import CHECKPOINTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retaining]:
    """One broker for the tests of this module; every test has topics of its own."""
    with Retaining(tmp_path_factory.mktemp("retained"), patterns="ward/#,steps/#,copy/#,small/#") as process:
        yield process


def drained(rows: DataFrame, out: Path, checkpoint: Path) -> list[bytes]:
    """All that a query gives until now, with what it gave before."""
    query = (
        rows.select("payload")
        .writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return payloads(rows.sparkSession.read.schema("payload binary").parquet(str(out)))


def test_a_batch_has_every_message_with_all_that_was_said(
    giusto_spark: SparkSession, broker: Retaining
) -> None:
    publish(broker.address, "ward/1", numbers(0, 12_000), spo2=97, bed="a")
    publish(broker.address, "ward/2", numbers(0, 3), spo2=80)
    rows = read(giusto_spark, broker, "ward/#", partitions=3).toArrow()
    assert sorted(rows["position"].to_pylist()) == list(range(12_003))
    first = min(rows.to_pylist(), key=lambda row: row["position"])
    assert (first["topic"], first["payload"], first["priority"]) == ("ward/1", b"0", 0)
    assert dict(first["attributes"]) == {"spo2": "97", "bed": "a"}
    assert first["publisher"]
    assert first["t_sent_ns"] <= first["t_received_ns"]
    assert first["received_at"].year >= 2024
    one = read(giusto_spark, broker, "ward/2").orderBy("position")
    assert payloads(one) == numbers(0, 3)
    low = read(giusto_spark, broker, "ward/+", filter="spo2 < 90", startingPosition="12001")
    assert payloads(low.orderBy("position")) == numbers(1, 3)


def test_a_stream_goes_on_where_it_stopped(
    giusto_spark: SparkSession, broker: Retaining, tmp_path: Path
) -> None:
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    publish(broker.address, "steps/s", numbers(0, 1_000))
    rows = stream(giusto_spark, broker, "steps/s", maxRowsPerTrigger=600)
    assert sorted(drained(rows, out, checkpoint), key=int) == numbers(0, 1_000)
    assert len(list((checkpoint / "offsets").glob("[0-9]*"))) > 1, "no more than 600 rows at a time"
    publish(broker.address, "steps/s", numbers(1_000, 1_500))
    assert sorted(drained(rows, out, checkpoint), key=int) == numbers(0, 1_500)
    with giusto.connect(broker.address) as bus:
        log = log_of(bus, "steps/s")
    assert 0 < max(log.cursors.values()) <= log.head
    with pytest.raises(Exception, match="checkpoint = of a query on steps/s"):
        drained(stream(giusto_spark, broker, "ward/1"), out, checkpoint)


def test_logs_of_streams_are_written_without_other_programs(giusto_spark: SparkSession) -> None:
    assert str(giusto_spark.conf.get(CHECKPOINTS)).endswith(".FileSystemBasedCheckpointFileManager")


def test_what_is_not_retained_is_said(giusto_spark: SparkSession, broker: Retaining, tmp_path: Path) -> None:
    with pytest.raises(
        Exception, match=r"elsewhere/#: not retained: the broker keeps ward/#, steps/#, copy/#"
    ):
        read(giusto_spark, broker, "elsewhere/#").collect()
    with pytest.raises(Exception, match="volatile=true reads topics as they are, at most once"):
        drained(stream(giusto_spark, broker, "elsewhere/a"), tmp_path / "out", tmp_path / "checkpoint")


def test_a_topic_without_retention_is_read_as_it_comes(
    giusto_spark: SparkSession, broker: Retaining, tmp_path: Path
) -> None:
    rows = stream(giusto_spark, broker, "now/#", volatile="true", filter="n < 400")
    writer = rows.select("payload").writeStream.format("memory").queryName("now")
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(processingTime="0 seconds").start()
    try:
        with giusto.connect(broker.address) as bus, bus.advertise("now/a") as publisher:
            wait_for(lambda: bool(bus.subscribers("now/a")))
            for number in range(500):
                publisher.publish(b"%d" % number, attributes={"n": number})
            bus.flush()
        wait_for(lambda: giusto_spark.table("now").count() >= 400)
        assert query.exception() is None
    finally:
        query.stop()
    assert payloads(giusto_spark.table("now")) == numbers(0, 400)


def test_the_query_of_the_page_runs(giusto_spark: SparkSession, broker: Retaining, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "source.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    code = code.replace("giusto://127.0.0.1:7447", broker.address)
    code = code.replace("/var/lib/giusto/alarms", str(tmp_path))
    with giusto.connect(broker.address) as bus:
        nurse = bus.subscribe("alarm/#")
        names: dict[str, Any] = {}
        exec(code, names)
        try:
            publish(broker.address, "ward/page", [b"fine"], spo2=97)
            publish(broker.address, "ward/page", [b"low"], spo2=88)
            message = next(one for one in nurse if one.topic == "alarm/ward/page")
        finally:
            names["query"].stop()
    assert (message.payload, message.priority, message.attributes) == (b"low", 7, {"spo2": 88})


def test_rows_are_published_with_their_attributes(giusto_spark: SparkSession, broker: Retaining) -> None:
    rows = giusto_spark.sql(
        "select concat('copy/', id % 2) as topic, cast(id as string) as payload,"
        " named_struct('id', id, 'half', id / 2.0D) as attributes, 5 as priority from range(0, 1000, 1, 2)"
    )
    with giusto.connect(broker.address) as bus:
        subscription = bus.subscribe("copy/1", queue=10_000)
        rows.write.format("giusto").option("url", broker.address).mode("append").save()
        received = [subscription.receive(timeout="30s") for _ in range(500)]
    assert sorted(int(one.payload) for one in received) == list(range(1, 1_000, 2))
    assert {one.priority for one in received} == {5}
    assert all(one.attributes == {"id": int(one.payload), "half": int(one.payload) / 2} for one in received)
    with pytest.raises(Exception, match="column = id, x: expected only topic, payload, attributes, priority"):
        giusto_spark.range(1).selectExpr("id", "1 as x").write.format("giusto").mode("append").save()


def test_an_epoch_that_is_committed_again_goes_out_once(
    giusto_spark: SparkSession, broker: Retaining, tmp_path: Path
) -> None:
    publish(broker.address, "small/in", numbers(0, 300))
    rows = stream(giusto_spark, broker, "small/in", startingPosition="earliest", maxRowsPerTrigger=100)
    writer = rows.select("payload").writeStream.format("giusto").option("url", broker.address)
    writer = writer.option("topic", "small/out").option("checkpointLocation", str(tmp_path))

    def run() -> None:
        writer.trigger(availableNow=True).start().awaitTermination()

    run()
    # As if the driver had died after the commit of the last epoch and before its checkpoint.
    last = max((tmp_path / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    for left in (tmp_path / "commits").glob(f".{last.name}.crc"):
        left.unlink()
    from giusto.pipeline.source.writer import owner_of

    # A task that failed has left something, which goes with the next epoch.
    query = json.loads((tmp_path / "metadata").read_text())["id"]
    (broker.staged / f"{owner_of(query)}{0:016x}-000000").touch()
    run()
    publish(broker.address, "small/in", numbers(300, 301))
    run()
    assert list(broker.staged.iterdir()) == []
    wait_for(lambda: read(giusto_spark, broker, "small/out").count() >= 301)
    assert sorted(payloads(read(giusto_spark, broker, "small/out")), key=int) == numbers(0, 301)


def test_records_come_through_the_bus(giusto_spark: SparkSession, tmp_path: Path) -> None:
    with Retaining(tmp_path, patterns="none", traces=True) as broker:
        with giusto.connect(broker.address, name="reader") as bus, bus.advertise("traced/a") as publisher:
            subscription = bus.subscribe("traced/a")
            publisher.publish_many([b"x"] * 200)
            for _ in range(200):
                subscription.receive(timeout="60s")
        options = {"url": broker.address, "records": "true", "maxFilesPerTrigger": "3"}
        mine = "topic = 'traced/a' and subscriber = 'reader'"

        def records() -> DataFrame:
            return giusto_spark.read.format("giusto").options(**options).load().where(mine)

        wait_for(lambda: records().count() >= 200)
        row = records().orderBy("sequence").first()
        assert row is not None
        assert (row["sequence"], row["outcome"], row["size_bytes"]) == (0, "delivered", 1)
        assert row["t_ingress_ns"] <= row["t_selected_ns"] <= row["t_egress_ns"]
        rows = giusto_spark.readStream.format("giusto").options(**options).load().where(mine)
        writer = rows.select("sequence").writeStream.format("parquet").option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
    found = giusto_spark.read.schema("sequence bigint").parquet(str(tmp_path / "out")).collect()
    assert sorted(row["sequence"] for row in found) == list(range(200))
