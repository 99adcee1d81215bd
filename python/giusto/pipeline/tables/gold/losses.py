"""What was lost, where, and why: every delivery that did not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables.table import Inputs, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GROUP = ("run", "node", "topic", "publisher", "subscriber", "outcome")


def partial(inputs: Inputs) -> DataFrame:
    """Losses by place and reason; `subscriber` is null where nobody had been found yet who wanted it."""
    from pyspark.sql import functions as fn

    lost = inputs.deliveries.filter(~fn.col("outcome").isin("delivered", "late"))
    return lost.groupBy(*GROUP).agg(
        fn.count("*").alias("count"),
        fn.min("t_sent_ns").alias("first_ns"),
        fn.max("t_sent_ns").alias("last_ns"),
    )


def merge(partials: DataFrame) -> DataFrame:
    """Counts add up; first and last are those of all."""
    from pyspark.sql import functions as fn

    return partials.groupBy(*GROUP).agg(
        fn.sum("count").alias("count"),
        fn.min("first_ns").alias("first_ns"),
        fn.max("last_ns").alias("last_ns"),
    )


def present(merged: DataFrame) -> DataFrame:
    """As it is."""
    return merged


TABLE = Table("losses", partial, merge, present)
