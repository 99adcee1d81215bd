"""What a delivery is: everything that was seen of one message for one subscription, as one row.

Most deliveries were seen once, and pass through. Only those of which there is more than one record (copies,
several brokers, or a subscriber that keeps records too) are put together, which needs a shuffle. Which ones
these are is found by counting 64-bit hashes; two deliveries with one hash cost time and change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# What a message for one client is known by; a client may have several subscriptions.
MESSAGE = ("run", "topic", "publisher", "subscriber", "sequence", "t_sent_ns")
KEY = (*MESSAGE, "subscription")
TIMES = ("t_ingress_ns", "t_selected_ns", "t_egress_ns", "t_received_ns")
# Rows that are equal in these are one row that was read twice.
WHOLE = (*KEY, "node", "hop", *TIMES, "outcome")
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
ORDER = (
    "run",
    "node",
    "topic",
    "publisher",
    "subscriber",
    "subscription",
    "sequence",
    "size_bytes",
    "priority",
    "hops",
    "t_intended_ns",
    "t_sent_ns",
    *TIMES,
    "clock_error_ns",
    "min_sep_ns",
    "deadline_ns",
    "bound_ns",
    "price",
    "penalty",
    "outcome",
    "latency_ns",
    "latency_low_ns",
    "latency_high_ns",
    "inside_ns",
    "network_in_ns",
    "queue_ns",
    "egress_ns",
    "network_out_ns",
    "wall_ns",
    "records",
)
# Hashes that are sent to every core; beyond that everything is put together.
MOST_REPEATED = 1_000_000
HASH = "hash"


@dataclass(frozen=True)
class Silver:
    """What good rows come to.

    Each row is a part of one delivery (`records` says of how many it was made), a copy on a link
    (`is_copy`), or one of the `duplicates`. `hops` are all rows without the duplicates.
    """

    deliveries: DataFrame
    hops: DataFrame
    duplicates: DataFrame


def silver(rows: DataFrame) -> Silver:
    """Deliveries and hops of good rows; which rows belong together is looked up at once."""
    single, several = parted(rows)
    counted = several.repartition(*MESSAGE).withColumn("nth", nth_of_its_kind())
    unique, duplicates = (counted.filter(f"nth {which}").drop("nth") for which in ("= 1", "> 1"))
    hops = single.unionByName(unique)
    if duplicates.isEmpty():
        # So every table reads its own columns of the rows as they are.
        unique, hops, duplicates = several, rows, none_of(rows)
    deliveries = of_one(single.filter(~is_copy())).unionByName(of_several(unique.filter(~is_copy())))
    return Silver(told(deliveries), hops, duplicates)


def none_of(rows: DataFrame) -> DataFrame:
    """No rows, with the same columns."""
    from pyspark.sql import functions as fn

    return rows.filter(fn.lit(False))


def deliveries(rows: DataFrame) -> DataFrame:
    """One row for each delivery."""
    return silver(rows).deliveries


def is_copy() -> Column:
    """Whether a row is of a message on a link between brokers, whoever it was for."""
    from pyspark.sql import functions as fn

    return fn.col("subscriber").isNull() & (fn.col("outcome") == "delivered")


def parted(rows: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Rows that stand for a delivery by themselves, and those that may belong to one with others."""
    from pyspark.sql import functions as fn

    keyed = rows.withColumn(HASH, row_hash())
    # Nearly all are different: to count them before the shuffle too would be for nothing.
    counts = keyed.select(HASH).repartition(HASH).groupBy(HASH).agg(fn.count("*").alias("rows"))
    found = counts.filter("rows > 1").select(HASH).limit(MOST_REPEATED + 1).toArrow()
    nothing = none_of(rows)
    if found.num_rows == 0:
        return rows, nothing
    if found.num_rows > MOST_REPEATED:
        return nothing, rows
    repeated = fn.broadcast(rows.sparkSession.createDataFrame(found))
    return (
        keyed.join(repeated, HASH, "left_anti").drop(HASH),
        keyed.join(repeated, HASH, "left_semi").drop(HASH),
    )


def row_hash() -> Column:
    """The same for all rows of one delivery; of what was for nobody in particular, at one place only."""
    from pyspark.sql import functions as fn

    nobody = fn.col("subscriber").isNull()
    return fn.when(nobody, fn.xxhash64(*MESSAGE, "node")).otherwise(fn.xxhash64(*MESSAGE))


def nth_of_its_kind() -> Column:
    """Counts rows that are equal."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    return fn.row_number().over(Window.partitionBy(*WHOLE).orderBy(*SAID))


def is_endpoint() -> Column:
    """Whether a row is what a subscriber saw, not a broker."""
    from pyspark.sql import functions as fn

    is_end = fn.col("subscriber").isNotNull() & fn.col("t_received_ns").isNotNull()
    return is_end & fn.col("t_selected_ns").isNull() & fn.col("t_egress_ns").isNull()


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


def told(rows: DataFrame) -> DataFrame:
    """Deliveries with how long they took, and where the time went; columns in the order of the document."""
    from pyspark.sql import functions as fn

    sent, error = fn.col("t_sent_ns"), fn.col("clock_error_ns")
    has_come = fn.col("outcome").isin("delivered", "late")
    last_seen = fn.coalesce("t_received_ns", "t_egress_ns")
    before = fn.coalesce("t_egress_ns", "t_selected_ns", "t_ingress_ns") - sent
    inside = fn.coalesce(fn.col("queue_ns"), fn.lit(0)) + fn.coalesce(fn.col("egress_ns"), fn.lit(0))
    timed = rows.withColumn("latency_ns", fn.when(has_come, last_seen - sent))
    is_late = has_come & (fn.col("latency_ns") > fn.col("deadline_ns"))
    return (
        timed.withColumn("outcome", fn.when(is_late, "late").otherwise(fn.col("outcome")))
        .withColumn("latency_low_ns", fn.col("latency_ns") - error)
        .withColumn("latency_high_ns", fn.col("latency_ns") + error)
        .withColumn("inside_ns", fn.col("t_egress_ns") - fn.col("t_ingress_ns"))
        .withColumn("network_in_ns", before - inside)
        .withColumn("network_out_ns", fn.col("t_received_ns") - fn.col("t_egress_ns"))
        .withColumn("wall_ns", sent + fn.col("wall_offset_ns"))
        .select(*ORDER)
    )
