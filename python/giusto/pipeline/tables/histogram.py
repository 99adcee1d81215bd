"""Which bucket a delay belongs to: 64 of equal width in each octave, in whole numbers only.

Below 128 a bucket is one value. Above, its width is at most a 64th of its values, so that its middle is
less than 0.8 % off. A histogram is a map from bucket to count; two of them merge by adding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

BITS = 6
PER_OCTAVE = 1 << BITS


def bucket_of(value: int) -> int:
    """The bucket of a value; negative ones count as 0."""
    value = max(0, value)
    shift = max(0, value.bit_length() - 1 - BITS)
    return shift * PER_OCTAVE + (value >> shift)


def lower_of(bucket: int) -> int:
    """The least value of a bucket."""
    shift = max(0, bucket // PER_OCTAVE - 1)
    return (bucket - shift * PER_OCTAVE) << shift


def upper_of(bucket: int) -> int:
    """The largest value of a bucket."""
    return lower_of(bucket) + (1 << max(0, bucket // PER_OCTAVE - 1)) - 1


def midpoint_of(bucket: int) -> int:
    """The value that stands for a bucket."""
    return (lower_of(bucket) + upper_of(bucket)) // 2


def bucket(value: Column) -> Column:
    """The bucket of a column of whole numbers, as `bucket_of`."""
    from pyspark.sql import functions as fn

    # Next to a power of two the logarithm may fall on either side of a whole number. Both give one bucket:
    # where an octave ends and the next begins, 127 steps of the one are 63 of the other, and 128 are 64.
    octave = fn.floor(fn.log2(fn.greatest(value, fn.lit(PER_OCTAVE).cast("long")))).cast("int")
    shift = fn.greatest(octave - BITS, fn.lit(0))
    top = fn.call_function("shiftright", fn.greatest(value, fn.lit(0).cast("long")), shift)
    return (shift * PER_OCTAVE + top).cast("int")


def lower(bucket: Column) -> Column:
    """The least value of a column of buckets, as `lower_of`."""
    from pyspark.sql import functions as fn

    shift = shift_of(bucket)
    return fn.call_function("shiftleft", (bucket - shift * PER_OCTAVE).cast("long"), shift)


def upper(bucket: Column) -> Column:
    """The largest value of a column of buckets, as `upper_of`."""
    from pyspark.sql import functions as fn

    width = fn.call_function("shiftleft", fn.lit(1).cast("long"), shift_of(bucket))
    return lower(bucket) + (width - 1)


def midpoint(bucket: Column) -> Column:
    """The value that stands for a bucket, as `midpoint_of`."""
    from pyspark.sql import functions as fn

    width = fn.call_function("shiftleft", fn.lit(1).cast("long"), shift_of(bucket))
    return lower(bucket) + fn.call_function("shiftright", width - 1, fn.lit(1))


def shift_of(bucket: Column) -> Column:
    """By how many bits the values of a bucket are wider than one."""
    from pyspark.sql import functions as fn

    by = fn.call_function("shiftright", bucket.cast("int"), fn.lit(BITS)) - 1
    return fn.greatest(by, fn.lit(0))
