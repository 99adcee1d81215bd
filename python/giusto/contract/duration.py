"""How long, and how often, a person means: durations as whole nanoseconds, rates as count per period."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from fractions import Fraction
from typing import TypeAlias

from giusto.errors import InvalidInput

Duration: TypeAlias = timedelta | int | float | str
Rate: TypeAlias = int | float | Fraction | str

NS_MAX = 2**61 - 1
UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,  # Greek letter mu
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_DURATION = re.compile(r"(-?(?:[0-9]{1,30}(?:\.[0-9]{1,30})?|\.[0-9]{1,30}))\s*([a-zµμ]+)")
_RATE = re.compile(r"([0-9]{1,30})\s*/\s*([0-9.]{0,60})\s*([a-zµμ]+)")
_UNITS = "ns, us, ms, s, min, h"
_TEXT_EXPECTED = f"a duration with its unit, such as 20ms ({_UNITS})"
_DURATION_EXPECTED = f'a duration: "20ms" ({_UNITS}), seconds, or a timedelta'
_RATE_EXPECTED = 'a rate: "100/s", "5/10ms", or messages per second'
# Floating-point numbers of messages per second are taken as the nearest fraction with parts up to this.
_PARTS_MAX = 1_000_000


def duration_ns(value: Duration, field: str = "duration", *, least_ns: int = 0) -> int:
    """Whole nanoseconds; numbers are seconds. Raises `InvalidInput` below `least_ns`."""
    found = _exact_ns(value)
    if found is None:
        raise InvalidInput(field, value, _TEXT_EXPECTED if isinstance(value, str) else _DURATION_EXPECTED)
    # Seconds as a float cannot be meant more exactly than that; text can.
    if isinstance(value, str) and found.denominator != 1:
        raise InvalidInput(field, value, "a whole number of nanoseconds")
    nanoseconds = round(found)
    if nanoseconds <= 0 < least_ns:
        raise InvalidInput(field, value, "more than 0")
    if not least_ns <= nanoseconds <= NS_MAX:
        raise InvalidInput(field, value, f"at least {show_ns(least_ns)} and at most 73 years")
    return nanoseconds


def rate_terms(value: Rate, field: str = "rate") -> tuple[int, int]:
    """Messages and the nanoseconds in which they may come: `"5/10ms"` is (5, 10_000_000)."""
    count, period_ns = _text_rate(value) if isinstance(value, str) else _number_rate(value)
    if not (0 < count <= NS_MAX and 0 < period_ns <= NS_MAX):
        raise InvalidInput(field, value, _RATE_EXPECTED)
    return count, period_ns


def show_ns(nanoseconds: int) -> str:
    """A duration for people, three digits or exact: `20 ms`, `1.84 ms`, `2 min`."""
    if nanoseconds == 0:
        return "0 s"
    unit = next(unit for unit in ("min", "s", "ms", "µs", "ns") if abs(nanoseconds) >= UNITS_NS[unit])
    if unit == "min" and nanoseconds % UNITS_NS["min"]:
        unit = "s"
    amount = Fraction(nanoseconds, UNITS_NS[unit])
    digits = len(str(abs(int(amount))))
    rounded = amount if amount.denominator == 1 else round(amount, max(0, 3 - digits))
    return f"{float(rounded):.12g} {unit}"


def spell_ns(nanoseconds: int) -> str:
    """A duration that `duration_ns` reads back as exactly the same: `20ms`."""
    unit = next(unit for unit in ("min", "s", "ms", "us", "ns") if nanoseconds % UNITS_NS[unit] == 0)
    return f"{nanoseconds // UNITS_NS[unit]}{unit}"


def show_rate(count: int, period_ns: int) -> str:
    """A rate for people: `100 per 1 s`."""
    return f"{count} per {show_ns(period_ns)}"


def spell_rate(count: int, period_ns: int) -> str:
    """A rate that `rate_terms` reads back as exactly the same: `5/10ms`."""
    return f"{count}/{spell_ns(period_ns)}"


def rate_of(count: int | None, period_ns: int | None) -> str | None:
    """The rate that came over the wire, spelled; refuses half a rate."""
    if count is None and period_ns is None:
        return None
    if count is None or period_ns is None:
        raise InvalidInput("rate", f"count {count}, period_ns {period_ns}", "both or neither")
    return f"{count}/{period_ns}ns"


def _exact_ns(value: object) -> Fraction | None:
    """The duration that a person wrote, in nanoseconds; `None` if it is none."""
    match value:
        case bool():
            return None
        case timedelta():
            return Fraction(value // timedelta(microseconds=1)) * 1_000
        case int():
            return Fraction(value) * UNITS_NS["s"]
        case float() if math.isfinite(value):
            return Fraction(repr(value)) * UNITS_NS["s"]
        case str() if found := _DURATION.fullmatch(value.strip()):
            number, unit = found.groups()
            return Fraction(number) * UNITS_NS[unit] if unit in UNITS_NS else None
    return None


def _text_rate(text: str) -> tuple[int, int]:
    found = _RATE.fullmatch(text.strip())
    if found is None:
        return 0, 0
    count, number, unit = found.groups()
    period = _exact_ns(f"{number or 1}{unit}")
    if period is None or period.denominator != 1:
        return 0, 0
    return int(count), int(period)


def _number_rate(value: object) -> tuple[int, int]:
    """Per second, in the smallest whole numbers."""
    match value:
        case bool():
            return 0, 0
        case float() if math.isfinite(value):
            rate = Fraction(repr(value)).limit_denominator(_PARTS_MAX)
        case int() | Fraction():
            rate = Fraction(value)
        case _:
            return 0, 0
    return rate.numerator, rate.denominator * UNITS_NS["s"]
