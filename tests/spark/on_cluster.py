"""A program that asks the workers of a cluster which giusto they have, and has them read a topic."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pyarrow as pa

from giusto.pipeline import session

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "700m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


def places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Where a worker has giusto from, its native part included."""
    from giusto import _core

    for _ in batches:
        yield pa.record_batch({"place": [_core.__file__]})


def main(master: str, url: str) -> None:
    """Print what workers said, how many of them there were, and what they read of a topic."""
    from giusto.pipeline.source import GiustoDataSource

    spark = session.session(master, SETTINGS)
    found = spark.range(0, 8, 1, 8).mapInArrow(places, "place string").collect()
    workers = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    spark.dataSource.register(GiustoDataSource)
    topic = spark.read.format("giusto").options(url=url, topic="ward/3", partitions=4).load()
    rows = topic.selectExpr("position", "cast(payload as string) as payload").collect()
    said = {
        "places": sorted({row["place"] for row in found}),
        "workers": workers,
        "rows": sorted((row["position"], row["payload"]) for row in rows),
    }
    print(json.dumps(said))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
