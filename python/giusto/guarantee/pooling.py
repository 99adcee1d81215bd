"""What each piece of work costs: pieces of one kind that take about as long lend each other their samples.

A high percentile of one piece alone would be its one worst sample, or take hours. What disturbs a piece of
work depends on how long it takes: so its samples, and those of its like, are taken in proportion to their
medians, and the upper limit of the percentile of all of them together is multiplied with its own median.

A virtual machine is stopped now and then without a trace, for milliseconds. Such a sample says nothing of the
work: it is set aside, and counted as the stall that it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil

from giusto.guarantee import quantile
from giusto.guarantee.measured import Point, Work

TIMES_ALIKE = 2
SIZES_ALIKE = 16
"""Pieces of one kind are alike if neither their medians nor their sizes differ by more than these factors."""
SCALE = 1 << 16
"""Proportions are whole multiples of 1/SCALE, rounded up."""
STALL_NS = 100_000
"""A sample so much above twice the 99th percentile of its like was hit by a stall of the machine."""


def undisturbed(ascending: Sequence[int]) -> Sequence[int]:
    """The samples, in ascending order, that no stall has hit: nearly all."""
    longest = 2 * ascending[len(ascending) * 99 // 100] + STALL_NS
    return ascending[: bisect_right(ascending, longest)]


def stalled(samples: Mapping[Work, Sequence[int]]) -> list[int]:
    """How long the stalls were that hit samples: what is above the median of their like."""
    found = []
    for values in map(sorted, filter(None, samples.values())):
        hit = values[len(undisturbed(values)) :]
        found += [value - values[len(values) // 2] for value in hit]
    return found


def points_of(
    samples: Mapping[Work, Sequence[int]], percentile: float, confidence: float
) -> tuple[Point, ...]:
    """A point for each piece of work that has samples."""
    ascending = {work: undisturbed(sorted(values)) for work, values in sorted(samples.items()) if values}
    medians = {work: max(1, values[len(values) // 2]) for work, values in ascending.items()}
    proportions = {
        work: [-(-value * SCALE // medians[work]) for value in values] for work, values in ascending.items()
    }
    found = []
    for work, values in ascending.items():
        pooled = sorted(
            proportion
            for other, list_ in proportions.items()
            if are_alike(work, other) and within(TIMES_ALIKE, medians[work], medians[other])
            for proportion in list_
        )
        limit = quantile.upper(pooled, percentile, confidence)
        found.append(
            Point(
                work=work,
                samples=len(values),
                median_ns=medians[work],
                cost_ns=max(1, ceil(Fraction(medians[work] * limit.value, SCALE))),
                max_ns=max(1, values[-1]),
                certain=limit.certain,
            )
        )
    return tuple(found)


def are_alike(one: Work, other: Work) -> bool:
    """Whether two pieces of work are of one kind, on messages of about the same size."""
    return one.kind == other.kind and within(SIZES_ALIKE, one.size_bytes, other.size_bytes)


def within(factor: int, one: int, other: int) -> bool:
    """Whether two numbers do not differ by more than a factor."""
    return max(one, other) <= factor * min(one, other)
