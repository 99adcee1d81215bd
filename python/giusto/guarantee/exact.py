"""Turns what a caller gives into exact numbers, or says which field is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from giusto.errors import InvalidInput

Number = int | float | str | Decimal | Fraction
"""Anything that `Fraction` takes without rounding; a float stands for the binary value it holds."""


def number(field: str, value: Number) -> Fraction:
    """Any finite number."""
    if isinstance(value, bool):
        raise InvalidInput(field, value, "a number")
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidInput(field, value, "a finite number") from None


def positive(field: str, value: Number) -> Fraction:
    """A finite number above 0."""
    result = number(field, value)
    if result <= 0:
        raise InvalidInput(field, value, "a number above 0")
    return result


def nonnegative(field: str, value: Number) -> Fraction:
    """A finite number, 0 or above."""
    result = number(field, value)
    if result < 0:
        raise InvalidInput(field, value, "a number of at least 0")
    return result


def at_least_one(field: str, value: Number) -> Fraction:
    """A burst: a window of length 0 may hold one message, so less than 1 would forbid all traffic."""
    result = number(field, value)
    if result < 1:
        raise InvalidInput(field, value, "a number of at least 1")
    return result


def whole(field: str, value: Number, least: int = 0) -> int:
    """An integer of at least `least`."""
    result = number(field, value)
    if result.denominator != 1 or result < least:
        raise InvalidInput(field, value, f"an integer of at least {least}")
    return int(result)


def index(field: str, value: Number, length: int) -> int:
    """A position in a sequence of `length` items; negative positions are not accepted."""
    result = number(field, value)
    if result.denominator != 1 or not 0 <= result < length:
        raise InvalidInput(field, value, f"an index from 0 to {length - 1}")
    return int(result)


def wholes(field: str, values: Sequence[Number], least: int) -> list[int]:
    """A non-empty sequence of integers of at least `least`."""
    require_some(field, values)
    return [whole(f"{field}[{i}]", value, least) for i, value in enumerate(values)]


def positives(field: str, values: Sequence[Number]) -> list[Fraction]:
    """A non-empty sequence of numbers above 0."""
    require_some(field, values)
    return [positive(f"{field}[{i}]", value) for i, value in enumerate(values)]


def require_some(field: str, values: Sequence[object]) -> None:
    """Refuse an empty sequence."""
    if len(values) == 0:
        raise InvalidInput(field, values, "at least one item")


def require_length(field: str, values: Sequence[object], length: int) -> None:
    """Refuse a sequence that does not go with another one of `length` items."""
    if len(values) != length:
        raise InvalidInput(field, values, f"{length} items, found {len(values)}")
