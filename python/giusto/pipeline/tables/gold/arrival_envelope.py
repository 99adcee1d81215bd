"""How bursty each flow was: the least σ for each ρ of a grid, exactly, and which offers were broken.

One row per flow and rate, in messages and in bytes, from the flow's mean rate to the first rate at which σ is
one message; and one row at the rate that was offered. What counts is when messages were sent: that is what an
offer is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables import envelope, pieces
from giusto.pipeline.tables.repeated import is_endpoint
from giusto.pipeline.tables.table import Inputs, Table, slice_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MIN_SEP_MAX_NS = 2**46
"""An offer of less than one message in 19 hours counts as none."""
FLOW = pieces.Flow._fields


def partial(inputs: Inputs) -> DataFrame:
    """One piece per flow."""
    from pyspark.sql import functions as fn

    min_sep = fn.when(fn.col("min_sep_ns").between(1, MIN_SEP_MAX_NS), fn.col("min_sep_ns"))
    # Each once before they are sorted and leave for Python: there is a record for everybody who gets one.
    # A subscriber does not know what was offered: by its records the flow would be there a second time.
    messages = (
        inputs.hops.filter(~is_endpoint())
        .select(
            *("run", "publisher", "topic", "sequence", "size_bytes", "t_sent_ns"), min_sep.alias("min_sep_ns")
        )
        .distinct()
    )
    # A flow is sorted by a number that stands for it: to compare names would cost more.
    flow = fn.xxhash64(*FLOW)
    ordered = (
        messages.withColumn("flow", flow)
        .withColumn("part", fn.xxhash64("flow", slice_of()))
        .repartition("flow")
        .sortWithinPartitions("flow", "t_sent_ns", "sequence")
    )
    return ordered.drop("flow").mapInArrow(pieces.fold_messages, pieces.SCHEMA)


def merge(partials: DataFrame) -> DataFrame:
    """Pieces of a flow in order of time as one."""
    from pyspark.sql import functions as fn

    ordered = (
        partials.withColumn("flow", fn.xxhash64(*FLOW))
        .repartition("flow")
        .sortWithinPartitions("flow", *FLOW, "first_ns", "last_ns")
    )
    return ordered.drop("flow").mapInArrow(pieces.fold_rows, pieces.SCHEMA)


def present(merged: DataFrame) -> DataFrame:
    """A row per rate that says something."""
    in_messages = rows(merged, "messages", envelope.MESSAGE_UNIT, envelope.MESSAGE_GRID)
    in_bytes = rows(merged, "bytes", envelope.BYTE_UNIT, envelope.BYTE_GRID)
    return in_messages.unionByName(offered(merged)).unionByName(in_bytes)


def rows(merged: DataFrame, unit: str, a: int, grid: list[int]) -> DataFrame:
    """From the last rate below the mean to the first one at which σ is a single message."""
    from pyspark.sql import functions as fn

    one = fn.lit(1) if unit == "messages" else fn.col("largest_bytes")
    total = fn.col("count") if unit == "messages" else fn.col("size_bytes")
    mean = total * fn.lit(float(a)) / fn.col("span_ns")
    slower = sum((fn.coalesce((mean >= b).cast("int"), fn.lit(0)) for b in grid[1:]), fn.lit(0))
    best = fn.slice(fn.col(f"{unit}_best"), 1, len(grid))
    single = fn.array_position(fn.transform(best, lambda each: each <= one * a), True)
    last = fn.when(single == 0, len(grid)).otherwise(single) - 1
    exploded = (
        merged.withColumn("span_ns", fn.nullif(fn.col("last_ns") - fn.col("first_ns"), fn.lit(0)))
        .withColumn("least", slower)
        .withColumn("last", fn.greatest(last, fn.col("least")))
        .select("*", fn.posexplode(best).alias("place", "excess"))
        .filter(fn.col("place").between(fn.col("least"), fn.col("last")))
    )
    b = fn.element_at(fn.array(*(fn.lit(float(each)) for each in grid)), fn.col("place") + 1)
    return shown(exploded, unit, b * (1e9 / a), fn.col("excess") / fn.lit(float(a)), is_offered=False)


def offered(merged: DataFrame) -> DataFrame:
    """At the rate that was offered."""
    from pyspark.sql import functions as fn

    known = merged.filter(fn.col("min_sep_ns").isNotNull())
    known = known.withColumn("excess", fn.element_at("messages_best", -1))
    sigma = fn.col("excess") / fn.col("min_sep_ns")
    return shown(known, "messages", fn.lit(1e9) / fn.col("min_sep_ns"), sigma, is_offered=True)


def shown(found: DataFrame, unit: str, rho: Column, sigma: Column, *, is_offered: bool) -> DataFrame:
    """The columns that people read. `excess_ns` is the jitter that the flow would have had to offer."""
    from pyspark.sql import functions as fn

    is_messages = unit == "messages"
    nothing = fn.lit(None).cast("double")
    excess = fn.col("excess") - fn.col("min_sep_ns") if is_offered else fn.lit(None).cast("long")
    return found.select(
        *("run", "publisher", "topic"),
        fn.lit(unit).alias("unit"),
        (rho if is_messages else nothing).alias("rho_hz"),
        (nothing if is_messages else rho * 8).alias("rho_bps"),
        (sigma if is_messages else nothing).alias("sigma_messages"),
        (nothing if is_messages else sigma).alias("sigma_bytes"),
        fn.lit(is_offered).alias("offered"),
        "min_sep_ns",
        excess.alias("excess_ns"),
        *("broken", "count", "size_bytes", "largest_bytes"),
        fn.col("first_ns").alias("since_ns"),
        fn.col("last_ns").alias("until_ns"),
        "exact",
    )


TABLE = Table("arrival_envelope", partial, merge, present)
