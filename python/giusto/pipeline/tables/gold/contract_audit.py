"""Whether each contract held: every delivery against the bound that was granted and the deadline asked for.

What is compared is what a subscription's own report compares: from when the publisher sent a message until
the subscriber had it; until the broker sent it on, where no subscriber keeps records. A delivery that is
later than its bound by no more than the clocks may be apart is uncertain, not a violation. What was dropped
because it was too old misses its deadline like what came too late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables.table import Inputs, Table
from giusto.pipeline.tables.tally import count_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GROUP = ("run", "topic", "publisher", "subscriber", "subscription")
SUMS = ("deliveries", "with_bound", "violations", "uncertain", "misses", "lost")
MOST = ("largest_ns", "bound_ns", "deadline_ns", "largest_ratio")


def is_miss() -> Column:
    """Whether it came after its deadline, or was dropped on the way for its age."""
    from pyspark.sql import functions as fn

    outcome = fn.col("outcome")
    return (outcome == "late") | ((outcome == "expired") & fn.col("deadline_ns").isNotNull())


def partial(inputs: Inputs) -> DataFrame:
    """Counts, and the largest, of each contract."""
    from pyspark.sql import functions as fn

    bound, deadline = fn.col("bound_ns"), fn.col("deadline_ns")
    under = inputs.tallies(*GROUP, "outcome", "bound_ns", "deadline_ns")
    return (
        under.filter(bound.isNotNull() | deadline.isNotNull())
        .groupBy(*GROUP)
        .agg(
            fn.sum("count").alias("deliveries"),
            count_of(bound.isNotNull()).alias("with_bound"),
            fn.sum("violations").alias("violations"),
            fn.sum("uncertain").alias("uncertain"),
            count_of(is_miss()).alias("misses"),
            fn.sum(fn.col("count") - fn.col("came")).alias("lost"),
            fn.max("largest_ns").alias("largest_ns"),
            fn.max(bound).alias("bound_ns"),
            fn.max(deadline).alias("deadline_ns"),
            fn.max(fn.when(bound > 0, fn.col("largest_ns") / bound)).alias("largest_ratio"),
        )
    )


def merge(partials: DataFrame) -> DataFrame:
    """Counts add up; the largest is the largest of all."""
    from pyspark.sql import functions as fn

    return partials.groupBy(*GROUP).agg(
        *[fn.sum(name).alias(name) for name in SUMS], *[fn.max(name).alias(name) for name in MOST]
    )


def present(merged: DataFrame) -> DataFrame:
    """With the verdict on each contract."""
    from pyspark.sql import functions as fn

    verdict = fn.when(fn.col("violations") > 0, "violated").when(fn.col("uncertain") > 0, "uncertain")
    # A deadline promises nothing, so nothing can have held.
    verdict = verdict.when(fn.col("with_bound") > 0, "held").otherwise("no bound")
    return merged.withColumn("verdict", verdict)


TABLE = Table("contract_audit", partial, merge, present, is_few=True)
