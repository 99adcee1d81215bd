"""What was earned: the price of each delivery in time, less the penalties of others (S1, equations 1, 15).

Deliveries are counted by their price and penalty. Counts are whole numbers, so that parts add up to the
same sum in whatever order they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables.table import Inputs, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY = ("run", "node", "topic", "subscriber", "subscription")
GROUP = (*KEY, "policy")
TERMS = ("price", "penalty")


def partial(inputs: Inputs) -> DataFrame:
    """Deliveries that should have been, and those that came in time, for each price."""
    from pyspark.sql import functions as fn

    worth = fn.col("price").isNotNull() | fn.col("penalty").isNotNull() | fn.col("deadline_ns").isNotNull()
    return (
        inputs.deliveries.filter(fn.col("subscriber").isNotNull() & worth)
        .groupBy(*KEY, *TERMS)
        .agg(fn.count("*").alias("ideal"), fn.count_if(fn.col("outcome") == "delivered").alias("valid"))
    )


def with_policy(merged: DataFrame, facts: DataFrame | None) -> DataFrame:
    """The output policy of each node, as the last of its facts says."""
    from pyspark.sql import functions as fn

    if facts is None:
        return merged.withColumn("policy", fn.lit(None).cast("string"))
    known = facts.groupBy(fn.col("run").alias("of_run"), fn.col("node").alias("of_node")).agg(
        fn.max_by("output", "at_ns").alias("policy")
    )
    is_same = fn.col("run").eqNullSafe(fn.col("of_run")) & fn.col("node").eqNullSafe(fn.col("of_node"))
    return merged.join(fn.broadcast(known), is_same, "left")


def merge(partials: DataFrame) -> DataFrame:
    """Counts add up."""
    from pyspark.sql import functions as fn

    return partials.groupBy(*KEY, *TERMS).agg(fn.sum("ideal").alias("ideal"), fn.sum("valid").alias("valid"))


def present(merged: DataFrame) -> DataFrame:
    """Earning, what it could have been, and the part of deliveries that came in time."""
    from pyspark.sql import functions as fn

    late_or_lost = fn.col("ideal") - fn.col("valid")
    price, penalty = (fn.coalesce(fn.col(name), fn.lit(0.0)) for name in TERMS)
    sums = merged.groupBy(*GROUP).agg(
        fn.sum("ideal").alias("ideal"),
        fn.sum("valid").alias("valid"),
        fn.sum(late_or_lost).alias("late_or_lost"),
        fn.sum(price * fn.col("valid")).alias("price_sum"),
        fn.sum(penalty * late_or_lost).alias("penalty_sum"),
        fn.sum(price * fn.col("ideal")).alias("ideal_earning"),
    )
    return sums.withColumn("earning", fn.col("price_sum") - fn.col("penalty_sum")).withColumn(
        "success_rate", fn.col("valid") / fn.col("ideal")
    )


TABLE = Table("earnings", partial, merge, present, with_facts=with_policy)
