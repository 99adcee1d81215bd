"""How many rows per second Spark reads from a retained topic, and what of that is giusto and what is Spark.

A log is filled, and a broker serves it from the same machine. The same rows are fetched without Spark, read
by Spark in a batch and in a stream, and read by Spark from Parquet files, for comparison.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import giusto
from giusto.broker import Broker
from giusto.config import BrokerConfig, Retain
from giusto.pipeline import session
from giusto.pipeline.source import GiustoDataSource
from giusto.pipeline.source.options import parsed
from giusto.pipeline.source.remote import Remote
from giusto.pipeline.source.rows import for_spark
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


def report(case: str, value: float, unit: str) -> None:
    """One figure as a line of JSON."""
    print(json.dumps({"bench": "source", "case": case, "value": round(value, 4), "unit": unit}), flush=True)


def block(topic: str, first: int, rows: int, attributes: bytes) -> pa.RecordBatch:
    """Rows as a keeper makes them, of about 120 bytes."""
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
        pa.array([attributes] * rows, pa.binary()),
        pa.array([b"%040d" % number for number in numbers], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(made, schema=columns.kept())


def filled(folder: Path, pattern: str, attributes: bytes = b"") -> None:
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
        f"stream, {PER_TRIGGER:,} rows per micro-batch": lambda: drained(stream),
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
    attributes = columns.attributes_block({"spo2": 97, "ward": "3"})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, PATTERN)
        filled(folder, "bed/#", attributes)
        spark = session.session("local[2]")
        spark.dataSource.register(GiustoDataSource)
        with serving(folder, PATTERN, "bed/#") as address:
            measured(spark, address, folder / "parquet")
        session.stop()
        for pace_hz in PACE_HZ:
            kept(folder / str(pace_hz), pace_hz)


if __name__ == "__main__":
    main()
