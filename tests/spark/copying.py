"""A query in a process of its own: copies `ward/#` to `copy/a`, all that there is, so many rows at a time."""

from __future__ import annotations

import sys

from giusto.pipeline import session
from giusto.pipeline.source import GiustoDataSource


def main(address: str, checkpoint: str, rows_at_a_time: str) -> None:
    spark = session.session("local[2]", session.QUICK)
    spark.dataSource.register(GiustoDataSource)
    read = spark.readStream.format("giusto").option("url", address).option("topic", "ward/#")
    rows = read.option("maxRowsPerTrigger", rows_at_a_time).option("partitions", "2").load()
    written = rows.select("payload").writeStream.format("giusto").option("url", address)
    query = (
        written.option("topic", "copy/a")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
