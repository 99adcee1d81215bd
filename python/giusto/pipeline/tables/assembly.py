"""How the rows that there are of one delivery become one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables.repeated import KEY, MESSAGE, is_endpoint

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TIMES = ("t_ingress_ns", "t_selected_ns", "t_egress_ns", "t_received_ns")
# The same in all records of one delivery, or known to one of them only.
SAID = (
    "size_bytes",
    "priority",
    "t_intended_ns",
    "min_sep_ns",
    "deadline_ns",
    "bound_ns",
    "price",
    "penalty",
    "wall_offset_ns",
)


def at_broker(name: str) -> Column:
    """A column of a row that is of a broker."""
    from pyspark.sql import functions as fn

    return fn.when(~is_endpoint(), fn.col(name))


def of_one(rows: DataFrame) -> DataFrame:
    """Deliveries that were seen in one place."""
    from pyspark.sql import functions as fn

    return rows.select(
        *KEY,
        *SAID,
        at_broker("node").alias("node"),
        (fn.col("hop") + fn.when(is_endpoint(), 0).otherwise(1)).alias("hops"),
        at_broker("t_ingress_ns").alias("t_ingress_ns"),
        *TIMES[1:],
        "clock_error_ns",
        "outcome",
        waited().alias("queue_ns"),
        sent_on().alias("egress_ns"),
        fn.lit(1).cast("long").alias("records"),
    )


def waited() -> Column:
    """How long a message waited in one broker until it was chosen."""
    from pyspark.sql import functions as fn

    return fn.col("t_selected_ns") - fn.col("t_ingress_ns")


def sent_on() -> Column:
    """From when one broker chose a message until it was sent on."""
    from pyspark.sql import functions as fn

    return fn.col("t_egress_ns") - fn.col("t_selected_ns")


def of_two(rows: DataFrame) -> DataFrame:
    """Deliveries that one broker saw, or a subscriber that knows its number, or both."""
    from pyspark.sql import functions as fn

    has_end, hop = fn.col("end_hop").isNotNull(), fn.col("hop")
    is_end_last = fn.coalesce(fn.col("end_hop") >= hop, has_end)
    return joined(rows).select(
        *(fn.coalesce(name, f"end_{name}").alias(name) for name in KEY),
        *(fn.greatest(name, f"end_{name}").alias(name) for name in SAID),
        "node",
        fn.greatest(hop + 1, "end_hop").alias("hops"),
        *TIMES[:-1],
        *(fn.greatest(name, f"end_{name}").alias(name) for name in ("t_received_ns", "clock_error_ns")),
        fn.when(is_end_last, fn.col("end_outcome")).otherwise(fn.col("outcome")).alias("outcome"),
        waited().alias("queue_ns"),
        sent_on().alias("egress_ns"),
        fn.when(has_end & hop.isNotNull(), 2).otherwise(1).cast("long").alias("records"),
    )


def joined(rows: DataFrame) -> DataFrame:
    """Rows of brokers, each with the one that a subscriber has of it: the columns `end_…`."""
    from pyspark.sql import functions as fn

    columns = (*KEY, *SAID, "hop", "t_received_ns", "clock_error_ns", "outcome")
    end = rows.filter(is_endpoint()).select(*(fn.col(name).alias(f"end_{name}") for name in columns))
    is_same = [fn.col(name).eqNullSafe(fn.col(f"end_{name}")) for name in KEY]
    # No sorting: the rows of subscribers that are in one partition go into a hash table.
    return rows.filter(~is_endpoint()).join(end.hint("shuffle_hash"), is_same, "full_outer")


def of_several(rows: DataFrame) -> DataFrame:
    """Deliveries that were seen in several places; the rows are without duplicates."""
    from pyspark.sql import functions as fn

    hop, by_broker = fn.col("hop"), at_broker("hop")
    # At one place the last one counts: records without numbers may be of two subscriptions there.
    known = {name: fn.when(fn.col(name).isNotNull(), fn.struct("hop", name)) for name in TIMES}
    is_last = fn.col("nth_there") == 1
    placed = with_unnumbered(rows).withColumn("nth_there", nth_there()).withColumn("place", place())
    found = placed.groupBy(*KEY, "place").agg(
        *[fn.max(name).alias(name) for name in SAID],
        fn.max_by("node", by_broker).alias("node"),
        fn.max(hop + fn.when(is_endpoint(), 0).otherwise(1)).alias("hops"),
        fn.min_by("t_ingress_ns", by_broker).alias("t_ingress_ns"),
        fn.max_by("t_selected_ns", known["t_selected_ns"]).alias("t_selected_ns"),
        fn.max_by("t_egress_ns", known["t_egress_ns"]).alias("t_egress_ns"),
        fn.max(fn.coalesce("t_received_ns", "t_elsewhere_ns")).alias("t_received_ns"),
        fn.max("clock_error_ns").alias("clock_error_ns"),
        fn.max_by("outcome", fn.struct("hop", is_endpoint(), "node", "t_egress_ns")).alias("outcome"),
        fn.sum(fn.when(is_last, waited())).alias("queue_ns"),
        fn.sum(fn.when(is_last, sent_on())).alias("egress_ns"),
        (fn.count("*") + fn.max("more")).alias("records"),
    )
    return found.drop("place")


def place() -> Column:
    """What was lost before it was for anybody was lost in one place: in another it is another loss."""
    from pyspark.sql import functions as fn

    return fn.when(fn.col("subscriber").isNull(), fn.col("node"))


def nth_there() -> Column:
    """Counts records of one delivery at one place, from the one that was sent on last."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    there = Window.partitionBy(*KEY, "node", "hop", is_endpoint())
    return fn.row_number().over(there.orderBy(*(fn.desc_nulls_last(name) for name in TIMES[::-1])))


def with_unnumbered(rows: DataFrame) -> DataFrame:
    """What a subscriber saw without knowing the number of its subscription goes to all that it may be of.

    `more` counts these rows, at the first subscription only.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    message = Window.partitionBy(*MESSAGE)
    is_unnumbered = is_endpoint() & fn.col("subscription").isNull()
    others = fn.when(~fn.col("is_unnumbered"), fn.col("subscription"))
    found = (
        rows.withColumn("is_unnumbered", is_unnumbered)
        .withColumn(
            "t_elsewhere_ns", fn.max(fn.when(fn.col("is_unnumbered"), fn.col("t_received_ns"))).over(message)
        )
        .withColumn("unnumbered", fn.count_if("is_unnumbered").over(message))
        .withColumn("all", fn.count("*").over(message))
        .withColumn("first", fn.min(others).over(message))
    )
    is_alone = fn.col("unnumbered") == fn.col("all")
    is_first = fn.col("subscription").eqNullSafe(fn.col("first")) & ~is_alone
    return found.filter(~fn.col("is_unnumbered") | is_alone).withColumn(
        "more", fn.when(is_first, fn.col("unnumbered")).otherwise(0)
    )
