"""How deliveries are counted once for several tables: those that agree in all that these ask for as one row.

There are as many tallies as contracts and outcomes, so what is made of them costs next to nothing. To read
and to group the deliveries is the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEY = (
    *("run", "node", "topic", "publisher", "subscriber", "subscription"),
    *("outcome", "price", "penalty", "bound_ns", "deadline_ns"),
)


def tallies(deliveries: DataFrame, *key: str) -> DataFrame:
    """One row for all deliveries that agree in these columns; those of KEY, if none are named."""
    from pyspark.sql import functions as fn

    return deliveries.groupBy(*(key or KEY)).agg(
        fn.count("*").alias("count"),
        fn.count("latency_ns").alias("came"),
        fn.count_if(is_violation()).alias("violations"),
        fn.count_if(is_uncertain()).alias("uncertain"),
        fn.max("latency_ns").alias("largest_ns"),
        fn.min("t_sent_ns").alias("first_ns"),
        fn.max("t_sent_ns").alias("last_ns"),
        fn.sum("records").alias("records"),
    )


def is_violation() -> Column:
    """Whether a delivery was later than its bound, whatever the clocks."""
    from pyspark.sql import functions as fn

    return fn.coalesce(fn.col("latency_low_ns") > fn.col("bound_ns"), fn.lit(False))


def is_uncertain() -> Column:
    """Whether it was later than its bound if the clocks are right."""
    from pyspark.sql import functions as fn

    return fn.coalesce(fn.col("latency_ns") > fn.col("bound_ns"), fn.lit(False)) & ~is_violation()


def count_of(condition: Column) -> Column:
    """How many deliveries are in tallies of which something is true."""
    from pyspark.sql import functions as fn

    return fn.sum(fn.when(condition, fn.col("count")).otherwise(0))
