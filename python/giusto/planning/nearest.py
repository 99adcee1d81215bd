"""What could be promised instead: the smallest latency, and the largest rate, that would hold."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

LATENCY_MAX_NS = 60_000_000_000
"""A latency above this is no promise that anybody asks for."""

STEPS = 1_000
"""Nearest values are exact to this part of themselves, and hold."""


def least_latency_ns(asked_ns: int, holds: Callable[[int], bool]) -> int | None:
    """The smallest latency that holds, given that `asked_ns` does not; None if it is beyond the limit."""
    fails, found = asked_ns, asked_ns
    while not holds(found := min(2 * found, LATENCY_MAX_NS)):
        if found == LATENCY_MAX_NS:
            return None
        fails = found
    while found - fails > max(1, found // STEPS):
        middle = (fails + found) // 2
        fails, found = (fails, middle) if holds(middle) else (middle, found)
    return found


def largest_factor(holds: Callable[[Fraction], bool]) -> Fraction | None:
    """The largest factor below 1 for which rates hold, in steps of 1/STEPS; None if none does."""
    found, fails = 0, STEPS
    while fails - found > 1:
        middle = (found + fails) // 2
        found, fails = (middle, fails) if holds(Fraction(middle, STEPS)) else (found, middle)
    return Fraction(found, STEPS) if found else None


def largest_size_bytes(given: int, holds: Callable[[int], bool]) -> int | None:
    """The largest message that holds, to a part in 64, given that this one does not; None if none does."""
    found, fails = 0, given
    while fails - found > max(1, found // 64):
        middle = (found + fails) // 2
        found, fails = (middle, fails) if holds(middle) else (found, middle)
    return found or None


def load_factor(holds: Callable[[Fraction], bool]) -> float:
    """The largest factor for which rates hold, given that 1 does, exact to 1 %."""
    found, fails = Fraction(1), Fraction(2)
    while holds(fails):
        if fails >= 2**20:
            return float(fails)
        found, fails = fails, fails * 2
    while fails - found > found / 100:
        # A short fraction near the geometric middle keeps all numbers small.
        middle = Fraction((found * fails) ** 0.5).limit_denominator(1_000)
        found, fails = (middle, fails) if holds(middle) else (found, middle)
    return float(found)
