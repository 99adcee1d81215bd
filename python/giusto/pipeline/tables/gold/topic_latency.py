"""How long deliveries took: a histogram for each subscription, topic and window, and the quantiles of it.

Counted in two levels: first by bucket, then buckets are gathered. Quantiles are by the nearest rank, and at
most 0.8 % off; counts and the maximum are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables import histogram
from giusto.pipeline.tables.table import Inputs, Table, window_start

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GROUP = ("run", "topic", "subscriber", "subscription", "window_start_ns", "window_ns")
# In parts of ten thousand.
QUANTILES = {
    "p50_ns": 5_000,
    "p90_ns": 9_000,
    "p95_ns": 9_500,
    "p99_ns": 9_900,
    "p99_9_ns": 9_990,
    "p99_99_ns": 9_999,
}


def partial(inputs: Inputs) -> DataFrame:
    """One row per bucket."""
    from pyspark.sql import functions as fn

    came = inputs.deliveries.filter(fn.col("latency_ns").isNotNull())
    latency = fn.col("latency_ns")
    return came.groupBy(
        "run",
        "topic",
        "subscriber",
        "subscription",
        window_start(inputs.window_ns).alias("window_start_ns"),
        fn.lit(inputs.window_ns).cast("long").alias("window_ns"),
        histogram.bucket(latency).alias("bucket"),
    ).agg(
        fn.count("*").alias("count"),
        fn.try_sum(latency).alias("sum_ns"),
        fn.max(latency).alias("max_ns"),
        fn.max("bound_ns").alias("bound_ns"),
        fn.max("deadline_ns").alias("deadline_ns"),
    )


def merge(partials: DataFrame) -> DataFrame:
    """Counts of equal buckets add up."""
    from pyspark.sql import functions as fn

    return partials.groupBy(*GROUP, "bucket").agg(
        fn.sum("count").alias("count"),
        fn.try_sum("sum_ns").alias("sum_ns"),
        *[fn.max(name).alias(name) for name in ("max_ns", "bound_ns", "deadline_ns")],
    )


def present(merged: DataFrame) -> DataFrame:
    """One row per window: quantiles, and the histogram as a map from bucket to count."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    whole = Window.partitionBy(*GROUP)
    ranked = merged.withColumn("total", fn.sum("count").over(whole)).withColumn(
        "rank", fn.sum("count").over(whole.orderBy("bucket"))
    )
    gathered = ranked.groupBy(*GROUP).agg(
        fn.sum("count").alias("count"),
        fn.try_sum("sum_ns").alias("sum_ns"),
        *[fn.max(name).alias(name) for name in ("max_ns", "bound_ns", "deadline_ns")],
        fn.map_from_entries(fn.sort_array(fn.collect_list(fn.struct("bucket", "count")))).alias("histogram"),
        *[bucket_at(part).alias(name) for name, part in QUANTILES.items()],
    )
    return gathered.select(
        *GROUP[:-1],
        "count",
        (fn.col("count") * 1e9 / fn.col("window_ns")).alias("rate_hz"),
        *[fn.least(histogram.midpoint(fn.col(name)), "max_ns").alias(name) for name in QUANTILES],
        "max_ns",
        (fn.col("sum_ns") / fn.col("count")).cast("long").alias("mean_ns"),
        "histogram",
        "bound_ns",
        "deadline_ns",
        "window_ns",
    )


def bucket_at(part: int) -> Column:
    """The first bucket up to which at least `part` of ten thousand of all values lie."""
    from pyspark.sql import functions as fn

    is_reached = fn.col("rank") >= fn.ceil(fn.col("total") * part / 10_000)
    return fn.min(fn.when(is_reached, fn.col("bucket")))


TABLE = Table("topic_latency", partial, merge, present)
