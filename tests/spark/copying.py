"""A query in a process of its own: `ward/#` is copied to `copy/a` until the file `stop` is there."""

from __future__ import annotations

import sys
from pathlib import Path

from giusto.pipeline import session
from giusto.pipeline.source import GiustoDataSource


def main(address: str, checkpoint: str, stop: str) -> None:
    spark = session.session("local[2]", session.QUICK)
    spark.dataSource.register(GiustoDataSource)
    read = spark.readStream.format("giusto").option("url", address).option("topic", "ward/#")
    rows = read.option("maxRowsPerTrigger", "700").option("partitions", "2").load()
    written = rows.select("payload").writeStream.format("giusto").option("url", address)
    query = (
        written.option("topic", "copy/a")
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="0 seconds")
        .start()
    )
    print("started", flush=True)
    while not Path(stop).exists():
        query.awaitTermination(0.05)
    query.processAllAvailable()
    query.stop()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
