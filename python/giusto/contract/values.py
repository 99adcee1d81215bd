"""Which plain numbers a contract accepts, and how a frozen one takes them."""

from __future__ import annotations

import operator

from giusto.errors import InvalidInput

WORTH_MAX = 1e12


def keep(contract: object, **fields: object) -> None:
    """Set the fields of a frozen contract, once, while it is made."""
    for name, value in fields.items():
        object.__setattr__(contract, name, value)


def whole(field: str, value: object, least: int, most: int) -> int:
    """A whole number from `least` to `most`."""
    expected = f"a whole number from {least} to {most}"
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidInput(field, value, expected) from None
    if isinstance(value, bool) or not least <= number <= most:
        raise InvalidInput(field, value, expected)
    return number


def amount(field: str, value: object) -> float:
    """What something is worth: 0 or more, and not so much that sums become inexact."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= WORTH_MAX:
        raise InvalidInput(field, value, f"a number from 0 to {WORTH_MAX:g}")
    return float(value)


def no_more_often(limit: tuple[int, int], max_sep_ns: int) -> bool:
    """Whether `limit` (messages per nanoseconds) allows fewer messages than one per `max_sep_ns`."""
    count, period_ns = limit
    return max_sep_ns * count < period_ns
