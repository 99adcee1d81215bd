"""Which rows are all that there is of a delivery, and which belong to one with others.

It is found by counting hashes. Two deliveries with one hash cost time and change nothing: what belongs
together is decided by the values themselves, later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

# What a message for one client is known by; a client may have several subscriptions.
MESSAGE = ("run", "topic", "publisher", "subscriber", "sequence", "t_sent_ns")
KEY = (*MESSAGE, "subscription")
# Hashes that are sent to every core.
MOST_REPEATED = 1_000_000
# Up to so many rows their hashes are fetched and counted here, which takes half the time: 8 bytes each.
MOST_FETCHED = 32_000_000
HASH, TAG = "hash", "tag"
# The lowest bits of a hash make room for what a row is: of a broker, of a subscriber, or of one that does not
# know the number of its subscription.
KIND_BITS = 2
BROKER, NUMBERED, UNNUMBERED = 0, 1, 2
# A row weighs 2, and 3 more for each step of its kind. So 2 and 5 are one row, 7 is one of a broker with one
# of a subscriber and nothing else, and from 8 on one without a number may be among them.
SINGLE, PAIR, MAY_BE_UNNUMBERED = (2, 5), 7, 8
# Of so many hashes one is looked at in any case, which tells how many there are.
SAMPLED = 1024
# If more than one delivery in so many is of a pair, to shuffle all of them is cheaper than to pick them out.
FEW = 8


@dataclass(frozen=True)
class Parted:
    """Rows by what else there may be of their deliveries.

    Nothing of `single` ones; of `paired` ones at most one row of a broker and one of a subscriber, which
    knows the number; of `tangled` ones anything. Whether there are any of these is known beforehand.
    """

    single: DataFrame
    paired: DataFrame
    tangled: DataFrame
    is_any_tangled: bool


def parted(rows: DataFrame, most: int | None = None) -> Parted:
    """Look for rows that belong together; there are `most` of them or fewer, if that is known."""
    found, hashes = looked_up(rows) if most is None or most > MOST_FETCHED else fetched(rows)
    is_all, none = found.num_rows <= MOST_REPEATED, none_of(rows)
    if hashes.num_rows > MOST_REPEATED:
        return Parted(none, none, rows, is_any_tangled=True)
    tangled, rest = untangled(rows, hashes)
    single, paired = none, rest
    if is_all and are_pairs_few(found):
        paired, single = divided(rest, pairs_of(found), row_hash())
    return Parted(single, paired, tangled, hashes.num_rows > 0)


def looked_up(rows: DataFrame) -> tuple[pa.Table, pa.Table]:
    """What hashes weigh, and which are tangled: not all of them, if there are too many to be told to all."""
    counts = counted(rows)
    found = counts.limit(MOST_REPEATED + 1).toArrow()
    is_all = found.num_rows <= MOST_REPEATED
    return found, tangled_of(found if is_all else without_pairs(counts).limit(MOST_REPEATED + 1).toArrow())


def fetched(rows: DataFrame) -> tuple[pa.Table, pa.Table]:
    """The same, of all hashes."""
    found = weighed(rows.select(tag().alias(TAG)).toArrow()[TAG].to_numpy())
    return found, tangled_of(found)


def weighed(tags: NDArray[np.int64]) -> pa.Table:
    """The same as `counted`, of tags that are here."""
    import numpy as np
    import pyarrow as pa

    tags = np.sort(tags)
    hashes = tags >> KIND_BITS
    is_first = np.ones(len(tags), dtype=bool)
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    weights = np.add.reduceat((tags & 3) * 3 + 2, first) if len(first) else tags
    hashes = hashes[first]
    is_wanted = ~np.isin(weights, SINGLE) | (hashes % SAMPLED == 0)
    return pa.table({HASH: hashes[is_wanted], "weight": weights[is_wanted]})


def tag() -> Column:
    """The hash of a row, and what it is."""
    from pyspark.sql import functions as fn

    return fn.shiftleft(row_hash(), KIND_BITS) + kind()


def counted(rows: DataFrame) -> DataFrame:
    """What the rows of a hash weigh together: if there is more than one of them, and of some others."""
    from pyspark.sql import functions as fn

    hash_of_tag = fn.shiftright(TAG, KIND_BITS)
    return (
        rows.select(tag().alias(TAG))
        # Nearly all are different: to count them before the shuffle too would be for nothing.
        .repartition(hash_of_tag)
        .groupBy(hash_of_tag.alias(HASH))
        .agg(fn.sum(fn.col(TAG).bitwiseAND(3) * 3 + 2).alias("weight"))
        .filter(f"weight not in {SINGLE} or {HASH} % {SAMPLED} = 0")
    )


def without_pairs(counts: DataFrame) -> DataFrame:
    """Hashes of which there are several rows, other than pairs."""
    return counts.filter(f"weight not in {(*SINGLE, PAIR)}")


def tangled_of(found: pa.Table) -> pa.Table:
    """Hashes that may be of anything."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return found.filter(pc.invert(pc.is_in(found["weight"], pa.array((*SINGLE, PAIR), pa.int64()))))


def pairs_of(found: pa.Table) -> pa.Table:
    """Hashes of a broker's row and a subscriber's."""
    import pyarrow.compute as pc

    return found.filter(pc.equal(found["weight"], PAIR))


def are_pairs_few(found: pa.Table) -> bool:
    """Whether pairs are a small part of all deliveries, judged from the sample."""
    import pyarrow.compute as pc

    sampled = pc.equal(pc.bit_wise_and(found[HASH], SAMPLED - 1), 0)
    deliveries = SAMPLED * (pc.sum(sampled).as_py() or 0)
    return bool(pairs_of(found).num_rows * FEW <= deliveries)


def untangled(rows: DataFrame, hashes: pa.Table) -> tuple[DataFrame, DataFrame]:
    """Rows that have one of these hashes, and all others.

    What a subscriber saw without knowing the number may be of any subscription: its hash is without one.
    """
    import pyarrow.compute as pc
    from pyspark.sql import functions as fn

    tangled, rest = divided(rows, hashes, row_hash())
    unnumbered = hashes.filter(pc.greater_equal(hashes["weight"], MAY_BE_UNNUMBERED))
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
