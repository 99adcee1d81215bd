"""Where a value stands on an axis, and which values are written beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

SECOND_NS = 1_000_000_000
# Steps of time that people count in.
STEPS_NS = tuple(
    step * unit
    for unit, steps in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1_000, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1_000_000, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (SECOND_NS, (1, 2, 5, 10, 15, 30)),
        (60 * SECOND_NS, (1, 2, 5, 10, 15, 30)),
        (3_600 * SECOND_NS, (1, 2, 6, 12, 24, 48, 168, 720, 2_160, 8_760)),
    )
    for step in steps
)


class Scale(Protocol):
    """An axis from `start` to `end`, in pixels."""

    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...

    def at(self, value: float) -> float:
        """The pixel of a value; what lies outside stands at the edge."""
        ...

    def ticks(self) -> list[int]:
        """The values that are written beside the axis."""
        ...


@dataclass(frozen=True)
class Linear:
    """Equal steps for equal times."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        return _between(value, self.low, self.high, self.start, self.end)

    def ticks(self, most: int = 5) -> list[int]:
        span = self.high - self.low
        step = next((step for step in STEPS_NS if span // step < most), STEPS_NS[-1])
        return list(range(-(-self.low // step) * step, self.high + 1, step))


@dataclass(frozen=True)
class Log:
    """Equal steps for equal ratios; nothing is below 1."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        value, low, high = (math.log10(max(each, 0.1)) for each in (value, self.low, self.high))
        return _between(value, low, high, self.start, self.end)

    def ticks(self, most: int = 6) -> list[int]:
        """Powers of ten, fewer if there are many; some values between them, or the ends, if there are few."""
        powers = self._inside("1")
        if len(powers) > 2:
            return powers[:: -(-len(powers) // most)]
        finer = (self._inside(digits) for digits in ("125", "15", "123456789"))
        ends = sorted({math.ceil(self.low), math.floor(self.high)})
        return next((found for found in finer if 2 <= len(found) <= most), ends)

    def _inside(self, digits: str) -> list[int]:
        """Those digits times powers of ten, as far as they lie on the axis."""
        decades = range(max(0, math.floor(math.log10(self.low))), math.ceil(math.log10(self.high)) + 1)
        every = (int(digit) * 10**decade for decade in decades for digit in digits)
        return [value for value in every if self.low <= value <= self.high]


def _between(value: float, low: float, high: float, start: float, end: float) -> float:
    share = 0.5 if high <= low else (value - low) / (high - low)
    return start + min(1.0, max(0.0, share)) * (end - start)
