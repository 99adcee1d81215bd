"""What it took to serve a message, by its size and how many got it, measured where the processor was busy.

Serving takes from when a message is chosen until the next one is, if that one was waiting already. Messages
that were chosen at one reading of the clock share the time until the next equally. What lies at the edge of a
slice is left out: a message of the neighbouring slice may have been served in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables import histogram
from giusto.pipeline.tables.table import SLICE_NS, Inputs, Table, slice_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

EDGE_NS = 100_000_000
"""So long after a slice began, messages that were sent before it are out."""
KEY = ("run", "node", "size_class", "fan_out")
SERVED = ("t_ingress_ns", "t_selected_ns", "size_bytes", "fan_out")
QUANTILES = {"p50_ns": 0.5, "p99_ns": 0.99, "p99_9_ns": 0.999}


def partial(inputs: Inputs) -> DataFrame:
    """How many took how long, by buckets."""
    from pyspark.sql import functions as fn

    served = services(inputs.selections)
    counted = served.withColumn("bucket", histogram.bucket(fn.col("service_ns")))
    return counted.groupBy(*KEY, "bucket").agg(
        fn.count("*").alias("count"),
        fn.sum("service_ns").alias("sum_ns"),
        fn.max("service_ns").alias("max_ns"),
        fn.max("size_bytes").alias("largest_bytes"),
    )


def services(chosen: DataFrame) -> DataFrame:
    """Messages during whose service another one waited, with how long it took."""
    from pyspark.sql import functions as fn

    since = fn.col("slice") * SLICE_NS
    is_whole = (fn.col("t_selected_ns") >= since + EDGE_NS) & (fn.col("next_ns") < since + SLICE_NS)
    is_busy = fn.col("next_ingress_ns") <= fn.col("t_selected_ns")
    # Shared equally, rounded up.
    each = fn.expr("(next_ns - t_selected_ns + messages - 1) div messages")
    return (
        in_turn(chosen)
        .filter(is_whole & is_busy)
        .select(
            *("run", "node", "fan_out", "size_bytes"),
            size_class(fn.col("size_bytes")).alias("size_class"),
            each.alias("service_ns"),
        )
    )


def in_turn(chosen: DataFrame) -> DataFrame:
    """What a node chose, with when it chose next, and since when what it chose then had been waiting.

    A live broker chooses some before it looks at its clock again: `messages` is how many at one instant.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    turns = Window.partitionBy("run", "node", "slice").orderBy("t_selected_ns")
    at_once = turns.rangeBetween(Window.currentRow, Window.currentRow)
    is_last = fn.col("after_ns") > fn.col("t_selected_ns")
    return (
        chosen.select("run", "node", slice_of().alias("slice"), *SERVED)
        .repartition("run", "node", "slice")
        .withColumn("messages", fn.count("*").over(at_once))
        .withColumn("first_ingress_ns", fn.min("t_ingress_ns").over(at_once))
        .withColumn("after_ns", fn.lead("t_selected_ns").over(turns))
        .withColumn("after_ingress_ns", fn.lead("first_ingress_ns").over(turns))
        .withColumn("next_ns", fn.max(fn.when(is_last, fn.col("after_ns"))).over(at_once))
        .withColumn("next_ingress_ns", fn.max(fn.when(is_last, fn.col("after_ingress_ns"))).over(at_once))
    )


def size_class(size_bytes: Column) -> Column:
    """The least power of two that is not below the size; 0 for none."""
    from pyspark.sql import functions as fn

    binary = fn.bin(size_bytes - 1)
    return (
        fn.when(size_bytes <= 1, size_bytes)
        .otherwise(fn.expr("1L") * fn.pow(fn.lit(2.0), fn.length(binary)))
        .cast("long")
    )


def merge(partials: DataFrame) -> DataFrame:
    """Counts of a bucket add up."""
    from pyspark.sql import functions as fn

    return partials.groupBy(*KEY, "bucket").agg(
        fn.sum("count").alias("count"),
        fn.sum("sum_ns").alias("sum_ns"),
        fn.max("max_ns").alias("max_ns"),
        fn.max("largest_bytes").alias("largest_bytes"),
    )


def present(merged: DataFrame) -> DataFrame:
    """One row per node, size and fan-out."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    upwards = Window.partitionBy(*KEY).orderBy("bucket")
    ranked = merged.withColumn("rank", fn.sum("count").over(upwards)).withColumn(
        "total", fn.sum("count").over(Window.partitionBy(*KEY))
    )
    value = fn.least(histogram.midpoint(fn.col("bucket")), fn.col("max_ns"))
    quantiles = [
        fn.min(fn.when(fn.col("rank") >= fn.ceil(fn.col("total") * part), value)).alias(name)
        for name, part in QUANTILES.items()
    ]
    return ranked.groupBy(*KEY).agg(
        fn.sum("count").alias("count"),
        (fn.sum("sum_ns") / fn.sum("count")).alias("mean_ns"),
        *quantiles,
        fn.max("max_ns").alias("max_ns"),
        fn.max("largest_bytes").alias("largest_bytes"),
        fn.map_from_entries(fn.sort_array(fn.collect_list(fn.struct("bucket", "count")))).alias("histogram"),
    )


def with_gaps(found: DataFrame, is_gapped: Column) -> DataFrame:
    """The next choice that is known of need not be the next one: nothing is said."""
    return found.filter(~is_gapped)


TABLE = Table("quantum", partial, merge, present, with_gaps)
