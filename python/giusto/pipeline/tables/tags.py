"""Which rows may be of one delivery, by numbers that are made of many rows at once, without Spark.

A tag is as in `repeated`: a hash, and what the row is. The hash is another one. It is the same for all rows
of a delivery, whichever file they are in; that two deliveries have one is unlikely, and costs time only.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from giusto.pipeline.tables.columns import Columns, is_known, is_seen_by_subscriber, numbers_of
from giusto.pipeline.tables.repeated import BROKER, KEY, KIND_BITS, NUMBERED, UNNUMBERED

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

READ = (*KEY, "node", "t_received_ns", "t_selected_ns", "t_egress_ns")
"""The columns that a tag is made of."""
NAMED = ("run", "topic", "publisher", "subscriber")
NUMBERS = ("sequence", "t_sent_ns", "subscription")
# Odd numbers without a pattern: fractions of the square roots of primes.
FACTORS = np.array(
    [
        *(0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1),
        *(0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179),
    ],
    np.uint64,
)
LAST = np.uint64(0xCBBB9D5DC1059ED9)
NOTHING = -(1 << 63)
"""In the place of a number that is not known."""
NEAR_BITS = 20


def tags_of(columns: Columns) -> NDArray[np.int64]:
    """The hash of each row, and what it is."""
    found = hashes_of(columns).view(np.int64)
    return (found << KIND_BITS) | kinds_of(columns)


def hashes_of(columns: Columns) -> Words:
    """The same for all rows of one delivery; of what was for nobody in particular, at one place only."""
    found = np.zeros(len(columns["run"]), np.uint64)
    for factor, words in zip(FACTORS, words_of(columns), strict=True):
        found += factor * words
    found ^= found >> np.uint64(32)
    found *= LAST
    found ^= found >> np.uint64(29)
    return found


def words_of(columns: Columns) -> Iterator[Words]:
    """What a delivery is known by, each as numbers."""
    for name in NAMED:
        yield words_of_names(columns[name])
    for name in NUMBERS:
        yield columns[name].fill_null(NOTHING).to_numpy(zero_copy_only=False).view(np.uint64)
    place = words_of_names(columns["node"])
    yield np.where(is_known(columns["subscriber"]), np.uint64(0), place)


def words_of_names(column: pa.Array) -> Words:
    """A number for each name; 0 for none."""
    import pyarrow as pa

    names = column.dictionary.cast(pa.binary()).to_pylist()
    words = [0 if name is None else int.from_bytes(blake2b(name, digest_size=8).digest()) for name in names]
    found: Words = np.array([*words, 0], np.uint64)[numbers_of(column)]
    return found


def kinds_of(columns: Columns) -> NDArray[np.int64]:
    """What rows are."""
    by_end = np.where(is_known(columns["subscription"]), NUMBERED, UNNUMBERED)
    return np.where(is_seen_by_subscriber(columns), by_end, BROKER)


def has_one_of(tags: NDArray[np.int64], hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the hash of a row is one of these, which are few and in order."""
    found = tags >> KIND_BITS
    if not len(hashes):
        return np.zeros(len(tags), np.bool_)
    # A look at some bits of it is enough for nearly all.
    near = np.zeros(1 << NEAR_BITS, np.bool_)
    near[hashes & (len(near) - 1)] = True
    is_one: NDArray[np.bool_] = near[found & (len(near) - 1)]
    some = np.flatnonzero(is_one)
    place = np.minimum(np.searchsorted(hashes, found[some]), len(hashes) - 1)
    is_one[some] = hashes[place] == found[some]
    return is_one
