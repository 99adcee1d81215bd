"""Which rows are all that there is of a delivery, and which belong to one with others.

It is found by counting hashes. Two deliveries with one hash cost time and change nothing: what belongs
together is decided by the values themselves, later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

# What a message for one client is known by; a client may have several subscriptions.
MESSAGE = ("run", "topic", "publisher", "subscriber", "sequence", "t_sent_ns")
KEY = (*MESSAGE, "subscription")
# Hashes that are sent to every core.
MOST_REPEATED = 1_000_000
HASH = "hash"
# The lowest bits of a hash make room for what a row is: of a broker, of a subscriber, or of one that does not
# know the number of its subscription.
KIND_BITS = 2
BROKER, NUMBERED, UNNUMBERED = 0, 1, 2


@dataclass(frozen=True)
class Parted:
    """Rows by what else there may be of their deliveries.

    Nothing of `single` ones; of `paired` ones at most one row of a broker and one of a subscriber, which
    knows the number; of `tangled` ones anything. `is_any_tangled` is known without looking at them.
    """

    single: DataFrame
    paired: DataFrame
    tangled: DataFrame
    is_any_tangled: bool


def parted(rows: DataFrame) -> Parted:
    """Look for rows that belong together."""
    counts, none = counted(rows), none_of(rows)
    found = counts.limit(MOST_REPEATED + 1).toArrow()
    if found.num_rows <= MOST_REPEATED:
        pairs, others = (found.filter(kept) for kept in by_pair(found))
        tangled, rest = untangled(rows, others)
        paired, single = divided(rest, pairs, row_hash())
        return Parted(single, paired, tangled, others.num_rows > 0)
    others = counts.filter("not is_pair").limit(MOST_REPEATED + 1).toArrow()
    if others.num_rows > MOST_REPEATED:
        return Parted(none, none, rows, is_any_tangled=True)
    tangled, rest = untangled(rows, others)
    return Parted(none, rest, tangled, others.num_rows > 0)


def by_pair(found: pa.Table) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Which hashes are of pairs, and which are not."""
    import pyarrow.compute as pc

    return found["is_pair"], pc.invert(found["is_pair"])


def counted(rows: DataFrame) -> DataFrame:
    """Hashes of which there is more than one row, and those of subscribers without numbers."""
    from pyspark.sql import functions as fn

    tag = fn.shiftleft(row_hash(), KIND_BITS) + kind()
    hash_of_tag = fn.shiftright("tag", KIND_BITS)
    counts = (
        rows.select(tag.alias("tag"))
        # Nearly all are different: to count them before the shuffle too would be for nothing.
        .repartition(hash_of_tag)
        .groupBy(hash_of_tag.alias(HASH))
        .agg(fn.count("*").alias("rows"), fn.sum(fn.col("tag").bitwiseAND(3)).alias("kinds"))
    )
    is_pair = (fn.col("rows") == 2) & (fn.col("kinds") == NUMBERED)
    return counts.filter(f"rows > 1 or kinds >= {UNNUMBERED}").select(
        HASH, is_pair.alias("is_pair"), (fn.col("kinds") >= UNNUMBERED).alias("may_be_unnumbered")
    )


def untangled(rows: DataFrame, hashes: pa.Table) -> tuple[DataFrame, DataFrame]:
    """Rows that have one of these hashes, and all others.

    What a subscriber saw without knowing the number may be of any subscription: its hash is without one.
    """
    from pyspark.sql import functions as fn

    tangled, rest = divided(rows, hashes, row_hash())
    unnumbered = hashes.filter(hashes["may_be_unnumbered"])
    if unnumbered.num_rows == 0:
        return tangled, rest
    others, rest = divided(rest, unnumbered, shortened(fn.xxhash64(*MESSAGE)))
    return tangled.unionByName(others), rest


def divided(rows: DataFrame, hashes: pa.Table, of_row: Column) -> tuple[DataFrame, DataFrame]:
    """Rows whose hash is one of these, and all others."""
    from pyspark.sql import functions as fn

    if hashes.num_rows == 0:
        return none_of(rows), rows
    some = fn.broadcast(rows.sparkSession.createDataFrame(hashes.select([HASH])))
    keyed = rows.withColumn(HASH, of_row)
    return keyed.join(some, HASH, "left_semi").drop(HASH), keyed.join(some, HASH, "left_anti").drop(HASH)


def none_of(rows: DataFrame) -> DataFrame:
    """No rows, with the same columns."""
    from pyspark.sql import functions as fn

    return rows.filter(fn.lit(False))


def row_hash() -> Column:
    """The same for all rows of one delivery; of what was for nobody in particular, at one place only."""
    from pyspark.sql import functions as fn

    # What is null does not change a hash.
    place = fn.when(fn.col("subscriber").isNull(), fn.col("node"))
    return shortened(fn.xxhash64(*KEY, place))


def shortened(whole: Column) -> Column:
    """A hash, with room for what a row is."""
    from pyspark.sql import functions as fn

    return fn.shiftright(whole, KIND_BITS)


def kind() -> Column:
    """What a row is."""
    from pyspark.sql import functions as fn

    by_end = fn.when(fn.col("subscription").isNull(), UNNUMBERED).otherwise(NUMBERED)
    return fn.when(is_endpoint(), by_end).otherwise(BROKER)


def is_endpoint() -> Column:
    """Whether a row is what a subscriber saw, not a broker."""
    from pyspark.sql import functions as fn

    is_end = fn.col("subscriber").isNotNull() & fn.col("t_received_ns").isNotNull()
    return is_end & fn.col("t_selected_ns").isNull() & fn.col("t_egress_ns").isNull()
