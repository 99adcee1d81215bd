"""How sure a mean is: the half-width of its confidence interval by Student's t."""

from __future__ import annotations

import math

from giusto.errors import InvalidInput

# Bisection halves the interval each time: more than the digits of a float.
HALVINGS = 200
TERMS = 500
TINY = 1e-300


def half_width(count: int, deviation: float, confidence: float = 95.0) -> float | None:
    """How far the true mean may lie from that of `count` values; None for one value, which says nothing.

    `deviation` is the standard deviation of the sample (over n - 1), `confidence` in percent.
    """
    if count < 2:
        return None
    return student_t(count - 1, confidence) * deviation / math.sqrt(count)


def student_t(degrees: int, confidence: float = 95.0) -> float:
    """The t that |T| does not exceed in `confidence` percent of cases, with so many degrees of freedom."""
    if degrees < 1:
        raise InvalidInput("degrees", degrees, "a whole number from 1")
    outside = 1 - require_confidence(confidence) / 100
    low, high = 0.0, 1.0
    while both_tails(high, degrees) > outside:
        low, high = high, high * 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if both_tails(middle, degrees) > outside else (low, middle)
    return high


def require_confidence(percent: float) -> float:
    """A confidence that makes sense."""
    if not 0 < percent < 100:
        raise InvalidInput("confidence", percent, "percent above 0 and below 100")
    return percent


def both_tails(t: float, degrees: int) -> float:
    """The probability that |T| exceeds t."""
    return regular_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def regular_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for 0 < x ≤ 1."""
    if x >= 1:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction converges quickly on this side; the other follows by symmetry.
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, 1 - x) / b


def beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / away_from_zero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / away_from_zero(1 + term * d)
            c = away_from_zero(1 + term / c)
            result *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return result


def away_from_zero(value: float) -> float:
    """A divisor."""
    return value if abs(value) > TINY else TINY
