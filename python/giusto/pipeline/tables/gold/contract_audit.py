"""Whether each contract held: every delivery against the bound that was granted and the deadline asked for.

What is compared is what a subscription's own report compares: from when the publisher sent a message until
the subscriber had it; until the broker sent it on, where no subscriber keeps records. A delivery that is
later than its bound by no more than the clocks may be apart is uncertain, not a violation. What was dropped
because it was too old misses its deadline like what came too late.

`bound_ns` is what was promised. What the broker had proved for the topic, the largest of the run as far as
its facts say, is `proved_ns`; `proved_ratio` is the longest delivery that was promised something as a part
of that. What waited while its topic came under contract has a deadline and no promise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables.table import Inputs, Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

GROUP = ("run", "topic", "publisher", "subscriber", "subscription")
SUMS = ("deliveries", "with_bound", "violations", "uncertain", "misses", "lost")
MOST = ("largest_ns", "promised_ns", "bound_ns", "deadline_ns", "largest_ratio")


def is_violation() -> Column:
    """Whether a delivery was later than its bound, whatever the clocks."""
    from pyspark.sql import functions as fn

    return fn.coalesce(fn.col("latency_low_ns") > fn.col("bound_ns"), fn.lit(False))


def is_uncertain() -> Column:
    """Whether it was later than its bound if the clocks are right."""
    from pyspark.sql import functions as fn

    return fn.coalesce(fn.col("latency_ns") > fn.col("bound_ns"), fn.lit(False)) & ~is_violation()


def is_miss() -> Column:
    """Whether it came after its deadline, or was dropped on the way for its age."""
    from pyspark.sql import functions as fn

    outcome = fn.col("outcome")
    return (outcome == "late") | ((outcome == "expired") & fn.col("deadline_ns").isNotNull())


def partial(inputs: Inputs) -> DataFrame:
    """Counts, and the largest, of each contract."""
    from pyspark.sql import functions as fn

    latency, bound = fn.col("latency_ns"), fn.col("bound_ns")
    under = inputs.deliveries.filter(bound.isNotNull() | fn.col("deadline_ns").isNotNull())
    return under.groupBy(*GROUP).agg(
        fn.count("*").alias("deliveries"),
        fn.count("bound_ns").alias("with_bound"),
        fn.count_if(is_violation()).alias("violations"),
        fn.count_if(is_uncertain()).alias("uncertain"),
        fn.count_if(is_miss()).alias("misses"),
        fn.count_if(latency.isNull()).alias("lost"),
        fn.max(latency).alias("largest_ns"),
        fn.max(fn.when(bound.isNotNull(), latency)).alias("promised_ns"),
        fn.max(bound).alias("bound_ns"),
        fn.max("deadline_ns").alias("deadline_ns"),
        fn.max(fn.when(bound > 0, latency / bound)).alias("largest_ratio"),
    )


def with_proved(merged: DataFrame, facts: DataFrame | None) -> DataFrame:
    """The largest bound that the facts know for the topic of each contract that has a promise."""
    from pyspark.sql import functions as fn

    if facts is None:
        return merged.withColumn("proved_ns", fn.lit(None).cast("long"))
    known = (
        facts.filter(fn.col("bound_ns").isNotNull())
        .groupBy(fn.col("run").alias("of_run"), fn.col("topic").alias("of_topic"))
        .agg(fn.max("bound_ns").alias("of_ns"))
    )
    is_same = fn.col("run").eqNullSafe(fn.col("of_run")) & (fn.col("topic") == fn.col("of_topic"))
    proved = fn.when(fn.col("with_bound") > 0, fn.col("of_ns")).alias("proved_ns")
    return merged.join(fn.broadcast(known), is_same, "left").select(*merged.columns, proved)


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
    ratio = fn.col("promised_ns") / fn.nullif("proved_ns", fn.lit(0))
    return merged.withColumns({"proved_ratio": ratio, "verdict": verdict}).drop("promised_ns")


TABLE = Table("contract_audit", partial, merge, present, with_facts=with_proved)
