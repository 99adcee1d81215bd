"""What a cost is not above, in so many of a hundred cases: judged from samples, whatever their distribution.

Of n samples the r-th smallest is not below the p-quantile with the probability that fewer than r of n fall
below it, a binomial one. The least r for which that reaches the confidence is the upper limit (order
statistics). With too few samples there is none: then the largest sample is taken, and it is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

from giusto.errors import InvalidInput
from giusto.guarantee import exact


class Quantile(NamedTuple):
    """An upper limit of a quantile; not `certain` if there were too few samples for the confidence."""

    value: int
    certain: bool


def part(field: str, percent: float) -> float:
    """A percentage from 50 to below 100, as a part of 1."""
    if not 50 <= exact.number(field, percent) < 100:
        raise InvalidInput(field, percent, "a percentage from 50 to below 100, such as 99.9")
    return percent / 100


def upper(ascending: Sequence[int], percentile: float, confidence: float) -> Quantile:
    """The upper limit of the percentile from samples in ascending order."""
    exact.require_some("samples", ascending)
    above = allowed_above(len(ascending), percentile, confidence)
    return Quantile(ascending[-1], False) if above is None else Quantile(ascending[-1 - above], True)


def allowed_above(samples: int, percentile: float, confidence: float) -> int | None:
    """How many of the largest samples may be left out; None if not even the largest is an upper limit.

    It is the largest m for which at most m samples above the quantile are as unlikely as the confidence asks:
    P(M <= m) <= 1 - confidence, where M is binomial with `samples` and 1 - percentile.
    """
    below = part("percentile", percentile)
    doubt = 1 - part("confidence", confidence)
    # Logarithms: the probability of no sample above is far below the smallest float for a low percentile.
    step, chance, total = log(1 - below) - log(below), samples * log(below), 0.0
    for m in range(samples):
        total += exp(chance)
        if total > doubt:
            return m - 1 if m else None
        chance += step + log(samples - m) - log(m + 1)
    return samples - 1


def samples_needed(percentile: float, confidence: float) -> int:
    """The least number of samples that gives an upper limit at all."""
    below, doubt = part("percentile", percentile), 1 - part("confidence", confidence)
    count = max(1, int(log(doubt) / log(below)))
    while allowed_above(count, percentile, confidence) is None:
        count += 1
    return count
