"""How means, variances, skewness and kurtosis of parts add up to those of the whole, without cancellation.

A part is its count, its mean and the sums of the second to fourth powers of the distances from that mean
(Pébay, 2008). In floating point: parts in another order differ in the last digits, one in 10¹² or so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SUMS = ("m2", "m3", "m4")


def moments(value: str) -> list[Column]:
    """Aggregates of a column: `n`, `mean`, `m2`, `m3`, `m4`; nulls do not count."""
    from pyspark.sql import functions as fn

    n, m2 = fn.count(value), fn.coalesce(fn.var_pop(value) * fn.count(value), fn.lit(0.0))
    # Both are null or not a number where all values are the same.
    skewness, kurtosis = (
        fn.nanvl(fn.coalesce(f(value), fn.lit(0.0)), fn.lit(0.0)) for f in (fn.skewness, fn.kurtosis)
    )
    return [
        n.alias("n"),
        fn.avg(value).alias("mean"),
        m2.alias("m2"),
        # Where there is no value at all, nothing may be divided by their number.
        fn.coalesce(fn.when(m2 > 0, skewness * fn.sqrt(m2 * m2 * m2 / n)), fn.lit(0.0)).alias("m3"),
        fn.coalesce(fn.when(m2 > 0, (kurtosis + 3) * m2 * m2 / n), fn.lit(0.0)).alias("m4"),
    ]


def centred(parts: DataFrame, *key: str) -> DataFrame:
    """Parts with the mean of all parts of the same key, and the distance `d` of their own from it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    every = Window.partitionBy(*key)
    whole = fn.sum(fn.col("n") * fn.col("mean")).over(every) / fn.nullif(fn.sum("n").over(every), fn.lit(0))
    distance = fn.coalesce(fn.col("mean") - fn.col("mean_of_all"), fn.lit(0.0))
    return parts.withColumn("mean_of_all", whole).withColumn("d", distance)


def added() -> list[Column]:
    """Aggregates of `centred` parts: the moments of all of them."""
    from pyspark.sql import functions as fn

    n, d, m2, m3, m4 = (fn.col(name) for name in ("n", "d", *SUMS))
    return [
        fn.sum(n).alias("n"),
        fn.first("mean_of_all").alias("mean"),
        fn.sum(m2 + n * d * d).alias("m2"),
        fn.sum(m3 + 3 * d * m2 + n * d * d * d).alias("m3"),
        fn.sum(m4 + 4 * d * m3 + 6 * d * d * m2 + n * d * d * d * d).alias("m4"),
    ]


def variance() -> Column:
    """Of the whole that the values are a sample of; null if there is only one."""
    from pyspark.sql import functions as fn

    return fn.when(fn.col("n") > 1, fn.col("m2") / (fn.col("n") - 1))


def skewness() -> Column:
    """0 for a normal distribution; null where all values are the same."""
    from pyspark.sql import functions as fn

    return fn.when(fn.col("m2") > 0, fn.col("m3") * fn.sqrt(fn.col("n")) / fn.pow(fn.col("m2"), fn.lit(1.5)))


def excess_kurtosis() -> Column:
    """0 for a normal distribution; null where all values are the same."""
    from pyspark.sql import functions as fn

    return fn.when(fn.col("m2") > 0, fn.col("m4") * fn.col("n") / (fn.col("m2") * fn.col("m2")) - 3)
