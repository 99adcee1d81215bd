"""How many rows per second Spark reads from a retained topic, and what of that is giusto and what is Spark.

A log is filled, and a broker serves it from the same machine. The same rows are fetched without Spark, read
by Spark in a batch and in a stream, and, for comparison, read by Spark from Parquet files, and from a source
that has its rows ready: faster than that no Python data source can be.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

import giusto
from giusto.broker import Broker
from giusto.config import BrokerConfig, Retain
from giusto.pipeline import session
from giusto.pipeline.source import GiustoDataSource
from giusto.pipeline.source.options import parsed
from giusto.pipeline.source.ranges import split
from giusto.pipeline.source.remote import Remote
from giusto.pipeline.source.rows import BATCH_ROWS, SCHEMA, for_spark
from giusto.retain import columns
from giusto.retain.log import Bounds, Log
from giusto.retain.requests import Fetch
from giusto.steward import Steward
from giusto.steward.steward import folder_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROWS = 1_000_000
BLOCK = 4_000
PER_TRIGGER = 250_000
PACE_HZ = (20_000, 50_000, 100_000)
PATTERN = "ward/#"
Offset = dict[str, int]


def report(case: str, value: float, unit: str) -> None:
    """One figure as a line of JSON."""
    print(json.dumps({"bench": "source", "case": case, "value": round(value, 4), "unit": unit}), flush=True)


def block(topic: str, first: int, rows: int, attributes: Sequence[bytes]) -> pa.RecordBatch:
    """Rows as a keeper makes them, of about 120 bytes; they have these attributes in turn."""
    import pyarrow as pa

    numbers = range(first, first + rows)
    instants = pa.array([1_000 * number for number in numbers], pa.int64())
    made = [
        pa.array([f"{topic}/{number % 16}/pulse" for number in numbers], pa.string()),
        pa.repeat("monitor", rows),
        pa.array(numbers, pa.int64()),
        pa.array([0] * rows, pa.int8()),
        instants,
        instants,
        instants,
        pa.array([attributes[number % len(attributes)] for number in numbers], pa.binary()),
        pa.array([b"%040d" % number for number in numbers], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(made, schema=columns.kept())


def filled(folder: Path, pattern: str, attributes: Sequence[bytes] = (b"",)) -> None:
    """A log with all rows in it."""
    log = Log(folder / folder_name(pattern), pattern, Bounds(max_bytes=0))
    for first in range(0, ROWS, BLOCK):
        rows = block(pattern.removesuffix("/#"), first, min(BLOCK, ROWS - first), attributes)
        assert log.append(rows, time.time_ns(), 0)
    log.close()


@contextmanager
def serving(folder: Path, *patterns: str) -> Iterator[str]:
    """The address of a broker that retains these patterns."""
    retain = Retain(patterns=patterns, folder=str(folder), max_bytes=0)
    config = BrokerConfig(listen=("tcp://127.0.0.1:0",), retain=retain, output_capacity=65_536)
    with Broker(config) as broker, Steward(broker):
        yield broker.address


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes, the second time: the first one warms Spark up."""
    work()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fetched(address: str) -> int:
    """All rows as Spark would get them, without Spark."""
    remote = Remote(parsed({"url": address, "topic": PATTERN}))
    log = remote.find(PATTERN)
    return sum(batch.num_rows for batch in for_spark(remote.fetch(Fetch(log.id, log.first, log.head))))


def loaded(spark: SparkSession, address: str, pattern: str, *, stream: bool = False) -> DataFrame:
    """The topic as a table."""
    reader = (spark.readStream if stream else spark.read).format("giusto").option("url", address)
    return reader.option("topic", pattern).option("maxRowsPerTrigger", str(PER_TRIGGER)).load()


@dataclass
class Ready(InputPartition):
    """A batch, and how many rows are to be made of it, again and again."""

    body: bytes
    rows: int


@dataclass(frozen=True)
class Supply:
    """So many rows in all, in micro-batches of so many; all of them are those of one batch."""

    body: bytes
    rows: int
    per_trigger: int

    def partitions(self, start: int, end: int) -> list[Ready]:
        """As the format `giusto` splits a range."""
        return [Ready(self.body, last - first) for first, last in split(start, end, None)]


def repeated(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The rows of a part."""
    assert isinstance(partition, Ready)
    batch = columns.decode(partition.body).combine_chunks().to_batches()[0]
    for first in range(0, partition.rows, BATCH_ROWS):
        yield batch.slice(0, min(BATCH_ROWS, partition.rows - first))


def ready(supply: Supply) -> type[DataSource]:
    """The format `ready`."""

    class ReadySource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "ready"

        def schema(self) -> str:
            return SCHEMA

        def reader(self, schema: StructType) -> DataSourceReader:
            return ReadyReader(supply)

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
            return ReadyStream(supply)

    return ReadySource


class ReadyReader(DataSourceReader):
    """All rows."""

    def __init__(self, supply: Supply) -> None:
        self._supply = supply

    def partitions(self) -> Sequence[InputPartition]:
        """All of them, split."""
        return self._supply.partitions(0, self._supply.rows)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        return repeated(partition)


class ReadyStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """All rows, in micro-batches."""

    def __init__(self, supply: Supply) -> None:
        self._supply = supply

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's names here and below)
        """From the first."""
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """So many in a micro-batch."""
        return ReadMaxRows(self._supply.per_trigger)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Everything is there."""

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Where the next micro-batch ends."""
        return {"row": min(self._supply.rows, start["row"] + self._supply.per_trigger)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """A micro-batch, split."""
        return self._supply.partitions(start["row"], end["row"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        return repeated(partition)

    def commit(self, end: Offset) -> None:
        """Nobody waits for it."""


def supply() -> Supply:
    """The same rows, ready."""
    rows = columns.placed(block("ward", 0, BATCH_ROWS, (b"",)), 0, 0)
    (batch,) = for_spark([columns.decode(columns.encode([rows], columns.fetched()))])
    return Supply(columns.encode([batch], batch.schema), ROWS, PER_TRIGGER)


def drained(rows: DataFrame) -> None:
    """A stream from its beginning to what is there now, into nothing."""
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = rows.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


def into_nothing(rows: DataFrame) -> None:
    """A batch, read to its end."""
    rows.write.format("noop").mode("overwrite").save()


def measured(spark: SparkSession, address: str, parquet: Path) -> None:
    """Every way to read the same rows."""
    report("fetched without Spark", ROWS / timed(lambda: fetched(address)) / 1e3, "thousand rows/s")
    batch, stream = loaded(spark, address, PATTERN), loaded(spark, address, PATTERN, stream=True)
    batch.write.parquet(str(parquet))
    for case, work in {
        "batch": lambda: into_nothing(batch),
        "batch, with two attributes": lambda: into_nothing(loaded(spark, address, "bed/#")),
        "batch, rows that are ready": lambda: into_nothing(spark.read.format("ready").load()),
        f"stream, {PER_TRIGGER:,} rows per micro-batch": lambda: drained(stream),
        "stream, rows that are ready": lambda: drained(spark.readStream.format("ready").load()),
        "Parquet, for comparison": lambda: into_nothing(spark.read.parquet(str(parquet))),
    }.items():
        report(case, ROWS / timed(work) / 1e3, "thousand rows/s")


def kept(folder: Path, pace_hz: int) -> None:
    """How much of a steady flow comes into the log."""
    with serving(folder, "paced/#") as address, giusto.connect(address) as bus:
        with bus.advertise("paced/a") as publisher:
            total, every, start = 2 * pace_hz, pace_hz // 200, time.perf_counter()
            for sent in range(0, total, every):
                time.sleep(max(0.0, start + sent / pace_hz - time.perf_counter()))
                publisher.publish_many([b"%0100d" % sent] * every)
        remote = Remote(parsed({"url": address}))
        while (log := remote.find("paced/a")).head + sum(log.lost.values()) < total:
            time.sleep(0.05)
    report(f"kept of {pace_hz:,} messages/s", 100 * log.head / total, "%")


def main() -> None:
    """Fill, serve, read."""
    said = ({"spo2": 80 + number % 21, "ward": str(number % 16)} for number in range(336))
    attributes = [columns.attributes_block(each) for each in said]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, PATTERN)
        filled(folder, "bed/#", attributes)
        spark = session.session("local[2]")
        spark.dataSource.register(GiustoDataSource)
        spark.dataSource.register(ready(supply()))
        with serving(folder, PATTERN, "bed/#") as address:
            measured(spark, address, folder / "parquet")
        session.stop()
        for pace_hz in PACE_HZ:
            kept(folder / str(pace_hz), pace_hz)


if __name__ == "__main__":
    main()
