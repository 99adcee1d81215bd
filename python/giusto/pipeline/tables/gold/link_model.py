"""How long a kilobyte takes on each link, as mean and variance, and whether a normal distribution fits.

A link is from a broker to the next, or from the last one to a subscriber whose program says when it had a
message. Beside the whole run it says the same of the most recent window, for who wants to follow a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables import moments
from giusto.pipeline.tables.selections import LINK
from giusto.pipeline.tables.table import Inputs, Table, window_start

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEY = ("run", "source", "target")
WINDOWED = (*KEY, "window_start_ns")
KILOBYTE = 1024
ENOUGH = 30
"""Fewer messages in a window are no model of a link."""
FIT = 0.01
"""A normal distribution would look less normal than this in one of a hundred cases."""


def partial(inputs: Inputs) -> DataFrame:
    """Moments for each link and window."""
    from pyspark.sql import functions as fn

    found = between(inputs.hops).unionByName(last(inputs.deliveries))
    windowed = found.withColumn("window_start_ns", window_start(inputs.window_ns))
    delay = fn.col("delay_ns")
    scaled = windowed.withColumn(
        "per_kb", fn.when(fn.col("size_bytes") > 0, delay * KILOBYTE / fn.col("size_bytes"))
    )
    return scaled.groupBy(*WINDOWED).agg(
        fn.count("*").alias("count"),
        fn.sum(delay).alias("sum_ns"),
        fn.min(delay).alias("least_ns"),
        fn.max(delay).alias("largest_ns"),
        fn.min("t_egress_ns").alias("since_ns"),
        fn.max("t_egress_ns").alias("until_ns"),
        *moments.moments("per_kb"),
    )


def between(hops: DataFrame) -> DataFrame:
    """Transmissions from one broker to another."""
    from pyspark.sql import functions as fn

    ends = fn.split("node", LINK, 2)
    links = hops.filter(fn.col("subscriber").isNull() & fn.contains("node", fn.lit(LINK)))
    return delays(links, ends[0], ends[1])


def last(deliveries: DataFrame) -> DataFrame:
    """Transmissions from a broker to a subscriber."""
    from pyspark.sql import functions as fn

    to_somebody = deliveries.filter(fn.col("subscriber").isNotNull() & fn.col("node").isNotNull())
    return delays(to_somebody, fn.col("node"), fn.col("subscriber"))


def delays(rows: DataFrame, source: Column, target: Column) -> DataFrame:
    """Those that arrived."""
    from pyspark.sql import functions as fn

    took = fn.col("t_received_ns") - fn.col("t_egress_ns")
    return rows.filter(took.isNotNull()).select(
        *("run", "size_bytes", "t_sent_ns", "t_egress_ns"),
        source.alias("source"),
        target.alias("target"),
        took.alias("delay_ns"),
    )


def merge(partials: DataFrame) -> DataFrame:
    """Moments of a link in a window add up."""
    return summed(partials, WINDOWED).select(*partials.columns)


def summed(parts: DataFrame, key: tuple[str, ...], *also: Column) -> DataFrame:
    """All parts of a key as one."""
    from pyspark.sql import functions as fn

    return (
        moments.centred(parts, *key)
        .groupBy(*key)
        .agg(
            *(fn.sum(name).alias(name) for name in ("count", "sum_ns")),
            *(fn.min(name).alias(name) for name in ("least_ns", "since_ns")),
            *(fn.max(name).alias(name) for name in ("largest_ns", "until_ns")),
            *moments.added(),
            *also,
        )
    )


def present(merged: DataFrame) -> DataFrame:
    """One row per link."""
    from pyspark.sql import functions as fn

    whole = summed(merged, KEY, recent().alias("recent"))
    return whole.select(
        *KEY,
        "count",
        fn.col("mean").alias("mean_ns_per_kb"),
        moments.variance().alias("variance"),
        moments.skewness().alias("skewness"),
        moments.excess_kurtosis().alias("excess_kurtosis"),
        odds().alias("normal_p"),
        is_normal().alias("normal"),
        (fn.col("sum_ns") / fn.col("count")).alias("mean_ns"),
        *("least_ns", "largest_ns", "since_ns", "until_ns"),
        fn.col("recent.window_start_ns").alias("recent_start_ns"),
        fn.col("recent.n").alias("recent_count"),
        fn.col("recent.mean").alias("recent_mean_ns_per_kb"),
        fn.col("recent.variance").alias("recent_variance"),
        fn.col("recent.normal").alias("recent_normal"),
    )


def odds() -> Column:
    """How often a sample of a normal distribution looks as unlike one (Jarque and Bera)."""
    from pyspark.sql import functions as fn

    skewness, kurtosis = moments.skewness(), moments.excess_kurtosis()
    # χ² with two degrees of freedom, whose tail is an exponential.
    return fn.exp(-fn.col("n") / 12 * (skewness * skewness + kurtosis * kurtosis / 4))


def is_normal() -> Column:
    """Whether a normal distribution fits; null if too few messages say so."""
    from pyspark.sql import functions as fn

    return fn.when(fn.col("n") >= ENOUGH, odds() >= FIT)


def recent() -> Column:
    """Of the windows of a link, the last one that has enough messages."""
    from pyspark.sql import functions as fn

    found = (moments.variance().alias("variance"), is_normal().alias("normal"))
    window = fn.struct("n", "mean", *found, "window_start_ns")
    return fn.max_by(window, fn.when(fn.col("n") >= ENOUGH, fn.col("window_start_ns")))


TABLE = Table("link_model", partial, merge, present)
