"""Which messages were seen at a node, and when it chose them: one row for each, however many got it.

Three tables look at messages rather than deliveries. To find each message once is most of their work: it is
done for all of them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables.repeated import is_endpoint

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LINK = "->"
"""In the name of a node: what happened on a link, not in a broker."""
MESSAGE = ("run", "node", "topic", "publisher", "sequence", "t_sent_ns")


def broker() -> Column:
    """Where a message was chosen: what is recorded of a link was chosen where the link begins."""
    from pyspark.sql import functions as fn

    return fn.substring_index("node", LINK, 1)


def messages(hops: DataFrame) -> DataFrame:
    """Each message once at each node; `fan_out` is to how many subscriptions and links it went from there.

    What a subscriber saw is left out: it knows neither when a message was chosen nor what was offered.
    """
    from pyspark.sql import functions as fn

    is_chosen = fn.col("t_selected_ns").isNotNull()
    goes_out = is_chosen & (fn.col("subscriber").isNotNull() | fn.contains("node", fn.lit(LINK)))
    since = fn.when(is_chosen, fn.col("t_ingress_ns"))
    seen = hops.filter(~is_endpoint()).withColumn("goes_out", goes_out).withColumn("since", since)
    return (
        seen.withColumn("node", broker())
        .groupBy(*MESSAGE)
        .agg(
            fn.min("since").alias("t_ingress_ns"),
            fn.min("t_selected_ns").alias("t_selected_ns"),
            fn.max("size_bytes").alias("size_bytes"),
            fn.max("min_sep_ns").alias("min_sep_ns"),
            fn.count_if("goes_out").alias("fan_out"),
        )
    )


def selections(messages: DataFrame) -> DataFrame:
    """Of the messages, those that a node chose."""
    from pyspark.sql import functions as fn

    return messages.filter(fn.col("t_selected_ns").isNotNull() & fn.col("node").isNotNull())
