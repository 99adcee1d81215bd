"""Turns what a caller gives into exact numbers, or says which field is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
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


def whole(field: str, value: Number, least: int = 0, most: int | None = None) -> int:
    """An integer of at least `least`, and of at most `most` if there is one."""
    result = number(field, value)
    if result.denominator != 1 or result < least or (most is not None and result > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidInput(field, value, f"an integer {span}")
    return int(result)


def index(field: str, value: Number, items: int) -> int:
    """A position in a sequence of so many items; negative positions are not accepted."""
    result = number(field, value)
    if result.denominator != 1 or not 0 <= result < items:
        raise InvalidInput(field, value, f"an index from 0 to {items - 1}")
    return int(result)


def wholes(field: str, values: Sequence[Number], least: int, most: int | None = None) -> list[int]:
    """A non-empty sequence of integers of at least `least`, and of at most `most` if there is one."""
    require_some(field, values)
    return [whole(f"{field}[{i}]", value, least, most) for i, value in enumerate(values)]


def positives(field: str, values: Sequence[Number]) -> list[Fraction]:
    """A non-empty sequence of numbers above 0."""
    require_some(field, values)
    return [positive(f"{field}[{i}]", value) for i, value in enumerate(values)]


def flag(field: str, value: bool) -> bool:
    """True or False: a word such as "no" would count as true."""
    if not isinstance(value, bool):
        raise InvalidInput(field, value, "True or False")
    return value


def length(field: str, values: Sequence[object]) -> int:
    """How long a sequence is; refuses what is none, and text, whose items are not numbers."""
    is_sequence = hasattr(values, "__getitem__") and not isinstance(values, str | bytes | Mapping | Set)
    try:
        found = len(values) if is_sequence else None
    except TypeError:
        found = None
    if found is None:
        raise InvalidInput(field, values, "a list or a tuple")
    return found


def require_some(field: str, values: Sequence[object]) -> None:
    """Refuse an empty sequence."""
    if length(field, values) == 0:
        raise InvalidInput(field, values, "at least one item")


def require_length(field: str, values: Sequence[object], expected: int) -> None:
    """Refuse a sequence that does not go with another one of `expected` items."""
    found = length(field, values)
    if found != expected:
        raise InvalidInput(field, values, f"{expected} items, found {found}")


def require_kind(field: str, value: object, kind: type) -> None:
    """Refuse a value that is not a `kind`."""
    if not isinstance(value, kind):
        raise InvalidInput(field, value, f"a {kind.__name__}")


def require_kinds(field: str, values: Sequence[object], kind: type) -> None:
    """Refuse what is not a sequence, empty or not, of `kind`."""
    length(field, values)
    for i, value in enumerate(values):
        require_kind(f"{field}[{i}]", value, kind)
