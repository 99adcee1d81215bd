"""What each piece of work costs: pieces of one kind that take about as long lend each other their samples.

A high percentile of one piece alone would be its one worst sample, or take hours. What disturbs a piece of
work depends on how long it takes: so its samples, and those of its like, are taken in proportion to their
medians, and the upper limit of the percentile of all of them together is multiplied with its own median.
"""

from __future__ import annotations

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


def points_of(
    samples: Mapping[Work, Sequence[int]], percentile: float, confidence: float
) -> tuple[Point, ...]:
    """A point for each piece of work that has samples."""
    ascending = {work: sorted(values) for work, values in sorted(samples.items()) if values}
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
