"""The worst response of a (σ,ρ) flow to a server of which only the completion times are known.

A flow of burst σ and rate ρ puts at most σ + ρt messages into any closed window of length t, so that the
j-th message after the start of a backlog arrives no earlier than ((j-σ)/ρ)^+ after the first. If the server
completes it no later than `completion(j)`, its response is at most completion(j) - ((j-σ)/ρ)^+. Every bound
of this package is the largest of these values; what differs is how far j has to go. Messages before the
⌊σ⌋-th arrive together with it and leave before it, so j starts there.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor

Completion = Callable[[int], Fraction]
"""Latest completion of the j-th message (j = 1, 2, …) after the arrival that starts a backlog."""

STEPS = 20_000
"""How many j a search looks at before it takes the straight line for the rest."""


def arrival(j: int, burst: Fraction, rate: Fraction) -> Fraction:
    """Earliest arrival of the j-th message after the first; needs j <= burst when the rate is 0."""
    return max(Fraction(0), (j - burst) / rate) if j > burst else Fraction(0)


def worst(completion: Completion, burst: Fraction, rate: Fraction, span: int) -> Fraction:
    """The worst response when `span` messages later everything is at most span/ρ later, as in (T4).

    With rate 0 the flow is a single burst that never comes again.
    """
    first = floor(burst)
    last = first if rate == 0 else first + span
    return max(completion(j) - arrival(j, burst, rate) for j in range(first, last + 1))


def worst_below_line(
    completion: Completion, offset: Fraction, slope: Fraction, burst: Fraction, rate: Fraction, span: int
) -> Fraction:
    """As `worst`, for completion(j) <= offset + slope·(j-1) with slope·ρ <= 1, as in (V2).

    The search ends when the line says that no later j can be worse, after `span` messages, or after `STEPS`
    of them; only then the line stands for what was not looked at, and the result may be above the exact
    value (never below, and never above the linear bound).
    """
    first = floor(burst)
    best = completion(first)
    if rate == 0:
        return best
    for j in range(first + 1, first + span + 1):
        ceiling = offset + slope * (j - 1) - arrival(j, burst, rate)
        if ceiling <= best:
            break
        if j > first + STEPS:
            return ceiling
        best = max(best, completion(j) - arrival(j, burst, rate))
    return best
