"""How long deliveries took: a histogram for each subscription, topic and window, and the quantiles of it.

Counted in two levels: first by spans of neighbouring buckets, a counter for each bucket, then spans are
gathered. A group for each bucket would be several times as many, and to find a group is most of the work.
Quantiles are by the nearest rank, and at most 0.8 % off; counts and the maximum are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables import histogram
from giusto.pipeline.tables.table import Inputs, Table, window_start

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GROUP = ("run", "topic", "subscriber", "subscription", "window_start_ns", "window_ns")
SPAN_BITS = 3
PLACES = range(1 << SPAN_BITS)
"""Of the buckets in a span."""
MOST = ("max_ns", "bound_ns", "deadline_ns")
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
    """One row per span of buckets."""
    from pyspark.sql import functions as fn

    came = inputs.deliveries.filter(fn.col("latency_ns").isNotNull())
    latency, bucket = fn.col("latency_ns"), fn.col("bucket")
    placed = came.withColumn("bucket", histogram.bucket(latency)).select(
        *("run", "topic", "subscriber", "subscription", "latency_ns", "bound_ns", "deadline_ns"),
        window_start(inputs.window_ns).alias("window_start_ns"),
        fn.lit(inputs.window_ns).cast("long").alias("window_ns"),
        fn.shiftright(bucket, SPAN_BITS).alias("span"),
        bucket.bitwiseAND(len(PLACES) - 1).alias("place"),
    )
    return placed.groupBy(*GROUP, "span").agg(
        *[fn.count_if(fn.col("place") == place).alias(count_at(place)) for place in PLACES],
        fn.try_sum(latency).alias("sum_ns"),
        fn.max(latency).alias("max_ns"),
        fn.max("bound_ns").alias("bound_ns"),
        fn.max("deadline_ns").alias("deadline_ns"),
    )


def count_at(place: int) -> str:
    """The name of a bucket's counter."""
    return f"count_{place}"


def merge(partials: DataFrame) -> DataFrame:
    """Counts of equal buckets add up."""
    from pyspark.sql import functions as fn

    return partials.groupBy(*GROUP, "span").agg(
        *[fn.sum(count_at(place)).alias(count_at(place)) for place in PLACES],
        fn.try_sum("sum_ns").alias("sum_ns"),
        *[fn.max(name).alias(name) for name in MOST],
    )


def present(merged: DataFrame) -> DataFrame:
    """One row per window: quantiles, and the histogram as a map from bucket to count."""
    from pyspark.sql import functions as fn

    counts = fn.array(*(count_at(place) for place in PLACES))
    gathered = merged.groupBy(*GROUP).agg(
        fn.sum(fn.aggregate(counts, fn.lit(0).cast("long"), lambda sum_, each: sum_ + each)).alias("count"),
        fn.try_sum("sum_ns").alias("sum_ns"),
        *[fn.max(name).alias(name) for name in MOST],
        fn.sort_array(fn.collect_list(fn.struct("span", counts.alias("counts")))).alias("spans"),
    )
    counted = gathered.withColumn("buckets", buckets_of(fn.col("spans")))
    middle = {name: histogram.midpoint(bucket_at(part)) for name, part in QUANTILES.items()}
    return counted.select(
        *GROUP[:-1],
        "count",
        (fn.col("count") * 1e9 / fn.col("window_ns")).alias("rate_hz"),
        *[fn.least(found, "max_ns").alias(name) for name, found in middle.items()],
        "max_ns",
        (fn.col("sum_ns") / fn.col("count")).cast("long").alias("mean_ns"),
        fn.map_from_entries("buckets").alias("histogram"),
        "bound_ns",
        "deadline_ns",
        "window_ns",
    )


def buckets_of(spans: Column) -> Column:
    """The buckets of spans that are in order, each with its count, without those that are empty."""
    from pyspark.sql import functions as fn

    def each(span: Column) -> Column:
        first = fn.shiftleft(span["span"], SPAN_BITS)
        return fn.transform(
            span["counts"],
            lambda count, place: fn.struct((first + place).alias("bucket"), count.alias("count")),
        )

    return fn.filter(fn.flatten(fn.transform(spans, each)), lambda entry: entry["count"] > 0)


def bucket_at(part: int) -> Column:
    """The first of the `buckets` up to which at least `part` of ten thousand of all values lie."""
    from pyspark.sql import functions as fn

    rank = fn.ceil(fn.col("count") * part / 10_000)

    def further(found: Column, entry: Column) -> Column:
        bucket = fn.when(found["up_to"] < rank, entry["bucket"]).otherwise(found["bucket"])
        return fn.struct((found["up_to"] + entry["count"]).alias("up_to"), bucket.alias("bucket"))

    nothing = fn.struct(fn.lit(0).cast("long").alias("up_to"), fn.lit(0).alias("bucket"))
    return fn.aggregate("buckets", nothing, further, lambda found: found["bucket"])


TABLE = Table("topic_latency", partial, merge, present)
