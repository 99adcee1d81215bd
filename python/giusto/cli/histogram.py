"""How values are distributed: counts in buckets of three significant digits, as HdrHistogram keeps them.

A value below 2048 has a bucket of its own. Above, the 11 leading bits choose the bucket, so that a percentile
is never off by more than 1 part in 1024, whatever its size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
LEADING_BITS = 11


class Histogram:
    """Counts of whole, non-negative values; the least, the greatest and the sum are exact."""

    def __init__(self, values: Iterable[int] = ()) -> None:
        self.counts: Counter[int] = Counter()
        self.total = 0
        self.sum = 0
        self.least = 0
        self.most = 0
        self.record(list(values))

    def record(self, values: list[int]) -> None:
        """Count all `values`; what is below 0 counts as 0."""
        if not values:
            return
        values = [max(0, value) for value in values]
        least, most = min(values), max(values)
        self.least = min(self.least, least) if self.total else least
        self.most = max(self.most, most)
        self.total += len(values)
        self.sum += sum(values)
        self.counts.update(map(bucket, values))

    @property
    def mean(self) -> float:
        """The exact mean; 0 without values."""
        return self.sum / self.total if self.total else 0.0

    def percentiles(self, asked: Iterable[float] = PERCENTILES) -> dict[float, int]:
        """For each percentage the value that so many of all values do not exceed; 0 without values."""
        ranks = sorted((rank(percent, self.total), percent) for percent in asked)
        found: dict[float, int] = {}
        seen, buckets, top = 0, iter(sorted(self.counts.items())), 0
        for wanted, percent in ranks:
            while seen < wanted:
                start, count = next(buckets)
                seen, top = seen + count, start + width(start) - 1
            found[percent] = min(top, self.most)
        return found


def bucket(value: int) -> int:
    """The least value that falls into the same bucket."""
    shift = max(0, value.bit_length() - LEADING_BITS)
    return value >> shift << shift


def width(start: int) -> int:
    """How many values fall into the bucket that starts at `start`."""
    return 1 << max(0, start.bit_length() - LEADING_BITS)


def rank(percent: float, total: int) -> int:
    """How many values, counted from the least, make `percent` of `total`; at least one if there is one."""
    # In hundred-thousandths, so that 99.99 % of 10,000 is 9,999 and not one more.
    share = round(percent * 1000)
    return min(total, max(1, -(-share * total // 100_000)))


def summary(histogram: Histogram) -> dict[str, int | float]:
    """Percentiles, mean and extremes under the names that `--json` prints."""
    named = {f"p{percent:g}_ns": value for percent, value in histogram.percentiles().items()}
    mean = round(histogram.mean, 1)
    return {"min_ns": histogram.least, "mean_ns": mean, **named, "max_ns": histogram.most}
