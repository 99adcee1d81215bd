"""What a delivery is: everything that was seen of one message for one subscription, as one row.

Most deliveries were seen once, and pass through. Only those of which there is more than one record (copies,
several brokers, or a subscriber that keeps records too) are put together, which needs a shuffle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from giusto.pipeline.tables.assembly import SAID, TIMES, of_one, of_several, of_two
from giusto.pipeline.tables.repeated import KEY, MESSAGE, none_of, parted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Rows that are equal in these are one row that was read twice.
WHOLE = (*KEY, "node", "hop", *TIMES, "outcome")
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


@dataclass(frozen=True)
class Silver:
    """What good rows come to.

    Each row is a part of one delivery (`records` says of how many it was made), a copy on a link
    (`is_copy`), or one of the `duplicates`. `hops` are all rows without the duplicates.
    """

    deliveries: DataFrame
    hops: DataFrame
    duplicates: DataFrame


def silver(rows: DataFrame, most: int | None = None) -> Silver:
    """Deliveries and hops of good rows; which rows belong together is looked up at once.

    If there are known to be `most` rows or fewer, and that is not too many, it takes less.
    """
    parts = parted(rows, most)
    unique, hops, duplicates = parts.tangled, rows, none_of(rows)
    if parts.is_any_tangled:
        counted = parts.tangled.repartition(*MESSAGE).withColumn("nth", nth_of_its_kind())
        more = counted.filter("nth > 1").drop("nth")
        if not more.isEmpty():  # else every table reads its own columns of the rows as they are
            unique, duplicates = counted.filter("nth = 1").drop("nth"), more
            hops = parts.single.unionByName(parts.paired).unionByName(unique)
    one, two, several = (part.filter(~is_copy()) for part in (parts.single, parts.paired, unique))
    deliveries = of_one(one).unionByName(of_two(two)).unionByName(of_several(several))
    return Silver(told(deliveries), hops, duplicates)


def deliveries(rows: DataFrame) -> DataFrame:
    """One row for each delivery."""
    return silver(rows).deliveries


def is_copy() -> Column:
    """Whether a row is of a message on a link between brokers, whoever it was for."""
    from pyspark.sql import functions as fn

    return fn.col("subscriber").isNull() & (fn.col("outcome") == "delivered")


def nth_of_its_kind() -> Column:
    """Counts rows that are equal."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    return fn.row_number().over(Window.partitionBy(*WHOLE).orderBy(*SAID))


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
