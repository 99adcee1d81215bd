"""Rates as whole numbers: so many parts of ONE per nanosecond, always rounded to the unsafe-for-us side.

The sum of a thousand exact fractions with different periods has a denominator of thousands of digits. Parts
of 2^-64 add up exactly, in any order and backwards too, and a flow loses less than 2^-64 of its rate.
"""

from __future__ import annotations

ONE = 1 << 64
"""A load of 1, a rate of one per nanosecond."""


def ceil_div(value: int, by: int) -> int:
    """⌈value / by⌉."""
    return -(-value // by)


def parts(numerator: int, denominator: int) -> int:
    """numerator/denominator in parts of ONE, rounded up."""
    return ceil_div(numerator * ONE, denominator)


def of(value: int, load: int) -> int:
    """`load` parts of ONE of a value, rounded up."""
    return ceil_div(value * load, ONE)
