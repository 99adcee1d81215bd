"""Which messages a node's input stage chose, and when: one row per message and node, however many got it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LINK = "->"
"""In the name of a node: what happened on a link, not in a broker."""
MESSAGE = ("run", "node", "topic", "publisher", "sequence", "t_sent_ns")


def broker() -> Column:
    """Where a message was chosen: what is recorded of a link was chosen where the link begins."""
    from pyspark.sql import functions as fn

    return fn.substring_index("node", LINK, 1)


def selections(hops: DataFrame) -> DataFrame:
    """Of the good rows, those that were chosen; `fan_out` is to how many subscriptions and links."""
    from pyspark.sql import functions as fn

    goes_out = fn.col("subscriber").isNotNull() | fn.contains("node", fn.lit(LINK))
    chosen = hops.filter(fn.col("t_selected_ns").isNotNull() & fn.col("node").isNotNull())
    placed = chosen.withColumn("goes_out", goes_out).withColumn("node", broker())
    return placed.groupBy(*MESSAGE).agg(
        fn.min("t_ingress_ns").alias("t_ingress_ns"),
        fn.min("t_selected_ns").alias("t_selected_ns"),
        fn.max("size_bytes").alias("size_bytes"),
        fn.count_if("goes_out").alias("fan_out"),
    )
