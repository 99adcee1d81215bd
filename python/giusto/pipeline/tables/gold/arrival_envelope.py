"""How bursty each flow was: the least σ for each ρ of a grid, exactly, and which offers were kept.

One row per flow and rate, in messages and in bytes, from the flow's mean rate to the first rate at which σ is
one message; and one row at the rate that was offered. What counts is when messages were sent: that is what an
offer is about. An offer is kept if `excess_ns` is within what its burst, its jitter and the tolerance of the
broker allow. If these were changed, and it was kept by some of them and not by others, nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables import envelope, pieces
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
    messages = inputs.messages.withColumn("min_sep_ns", min_sep)
    # A flow and its slice as one number: to compare names would cost more.
    placed = messages.withColumn("number", fn.shiftleft(flow_number(), pieces.SLICE_BITS)).withColumn(
        "place", fn.col("number").bitwiseOR(slice_of())
    )
    ordered = (
        placed.select(*FLOW, "sequence", "size_bytes", "t_sent_ns", "number", "place")
        .repartition("number")
        .sortWithinPartitions("place")
    )
    found = ordered.drop("number").mapInArrow(pieces.fold_messages, pieces.SCHEMA)
    return found if inputs.facts is None else with_allowed(found, inputs.facts)


def with_allowed(found: DataFrame, facts: DataFrame) -> DataFrame:
    """By how much each flow was allowed to be early, the least and the most of what it offered."""
    from pyspark.sql import functions as fn

    known = (
        facts.filter(fn.col("allowed_ns").isNotNull())
        .groupBy(*(fn.col(name).alias(f"of_{name}") for name in ("run", "client", "topic", "min_sep_ns")))
        .agg(fn.min("allowed_ns").alias("of_least_ns"), fn.max("allowed_ns").alias("of_most_ns"))
    )
    is_its = fn.col("run").eqNullSafe(fn.col("of_run")) & (fn.col("publisher") == fn.col("of_client"))
    for name in ("topic", "min_sep_ns"):
        is_its = is_its & (fn.col(name) == fn.col(f"of_{name}"))
    said = {"least_allowed_ns": fn.col("of_least_ns"), "most_allowed_ns": fn.col("of_most_ns")}
    return found.join(fn.broadcast(known), is_its, "left").withColumns(said).select(*found.columns)


def flow_number() -> Column:
    """A number that stands for a flow, and hardly ever for another, too."""
    from pyspark.sql import functions as fn

    return fn.xxhash64(*FLOW)


def merge(partials: DataFrame) -> DataFrame:
    """Pieces of a flow in order of time as one."""
    ordered = (
        partials.withColumn("number", flow_number())
        .repartition("number")
        .sortWithinPartitions("number", "first_ns", "last_ns")
    )
    return ordered.mapInArrow(pieces.fold_rows, pieces.SCHEMA)


def present(merged: DataFrame) -> DataFrame:
    """A row per rate that says something."""
    from pyspark.sql import functions as fn

    in_messages = points("messages", envelope.MESSAGE_UNIT, envelope.MESSAGE_GRID, fn.col("count"), fn.lit(1))
    in_bytes = points(
        "bytes", envelope.BYTE_UNIT, envelope.BYTE_GRID, fn.col("size_bytes"), fn.col("largest_bytes")
    )
    every = fn.concat(in_messages, offered(), in_bytes)
    found = merged.select("*", fn.explode(every).alias("point"))
    is_messages = fn.col("point.unit") == "messages"
    return found.select(
        *("run", "publisher", "topic", "point.unit"),
        fn.when(is_messages, fn.col("point.rho")).alias("rho_hz"),
        fn.when(~is_messages, fn.col("point.rho") * 8).alias("rho_bps"),
        fn.when(is_messages, fn.col("point.sigma")).alias("sigma_messages"),
        fn.when(~is_messages, fn.col("point.sigma")).alias("sigma_bytes"),
        *("point.offered", "min_sep_ns", "point.excess_ns"),
        kept().alias("kept"),
        *("closer", "count", "size_bytes", "largest_bytes"),
        fn.col("first_ns").alias("since_ns"),
        fn.col("last_ns").alias("until_ns"),
        "exact",
        fn.lit(True).alias("complete"),
    )


def with_gaps(found: DataFrame, is_gapped: Column) -> DataFrame:
    """A message without a record may have been part of a larger burst: σ may be too small."""
    from pyspark.sql import functions as fn

    # An offer that was broken by what was seen was broken.
    kept = fn.when(~(is_gapped & fn.col("kept")), fn.col("kept"))
    exact = fn.col("exact") & ~is_gapped
    return found.withColumns({"kept": kept, "exact": exact, "complete": ~is_gapped})


def kept() -> Column:
    """Whether what was offered was kept; null if there was no offer, or not all of it is known."""
    from pyspark.sql import functions as fn

    excess_ns = fn.element_at("messages_best", -1) - fn.col("min_sep_ns")
    is_early = fn.col("exact") & (excess_ns > fn.col("most_allowed_ns"))
    is_within = excess_ns <= fn.coalesce("least_allowed_ns", fn.lit(0))
    return fn.when(is_within, True).when(is_early, False)


def points(unit: str, a: int, grid: list[int], total: Column, one: Column) -> Column:
    """From the last rate below the mean to the first one at which σ is a single message."""
    from pyspark.sql import functions as fn

    span_ns = fn.nullif(fn.col("last_ns") - fn.col("first_ns"), fn.lit(0))
    mean = total * fn.lit(float(a)) / span_ns
    rates = fn.array(*(fn.lit(float(b)) for b in grid))
    slower = fn.size(fn.filter(fn.slice(rates, 2, len(grid)), lambda b: mean >= b))
    best = fn.slice(fn.col(f"{unit}_best"), 1, len(grid))
    single = fn.array_position(fn.transform(best, lambda each: each <= one * a), True).cast("int")
    last = fn.when(single == 0, len(grid)).otherwise(single) - 1

    def at(place: Column) -> Column:
        rho = fn.element_at(rates, place + 1) * (1e9 / a)
        return point(unit, rho, fn.element_at(best, place + 1) / fn.lit(float(a)))

    return fn.transform(fn.sequence(slower, fn.greatest(slower, last)), at)


def offered() -> Column:
    """At the rate that was offered, if one was. `excess_ns` is the jitter that would have had to be, too."""
    from pyspark.sql import functions as fn

    min_sep, excess = fn.col("min_sep_ns"), fn.element_at("messages_best", -1)
    found = point("messages", fn.lit(1e9) / min_sep, excess / min_sep, excess - min_sep)
    return fn.array_compact(fn.array(fn.when(min_sep.isNotNull(), found)))


def point(unit: str, rho: Column, sigma: Column, excess_ns: Column | None = None) -> Column:
    """One σ of one ρ; of an offer with its excess."""
    from pyspark.sql import functions as fn

    nothing = fn.lit(None).cast("long")
    return fn.struct(
        fn.lit(unit).alias("unit"),
        rho.alias("rho"),
        sigma.alias("sigma"),
        fn.lit(excess_ns is not None).alias("offered"),
        (nothing if excess_ns is None else excess_ns).alias("excess_ns"),
    )


TABLE = Table("arrival_envelope", partial, merge, present, with_gaps)
