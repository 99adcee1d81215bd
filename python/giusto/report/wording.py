"""How numbers read: counts, shares, durations and instants, for people; a number stays with its unit."""

from __future__ import annotations

from giusto.contract import show_ns

DASH = "–"
NO_BREAK = "\u00a0"


def count(value: float | None) -> str:
    """`1,204,332`; a dash for nothing."""
    return DASH if value is None else f"{round(value):,}"


def counted(value: int, one: str) -> str:
    """`1 contract`, `3 contracts`, `2 deliveries`."""
    return f"{value:,} {one if value == 1 else plural(one)}"


def were(value: int, one: str) -> str:
    """`1 delivery was`, `2 deliveries were`."""
    return f"{counted(value, one)} {'was' if value == 1 else 'were'}"


def plural(one: str) -> str:
    """`contracts`, `deliveries`; of several words the last."""
    return f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"


def percent(share: float | None) -> str:
    """Three digits, as many as are worth reading: `11.3 %`, `0.042 %`, `134 %`."""
    if share is None:
        return DASH
    value = 100 * share
    if value == 0:
        return with_unit("0 %")
    if 0 < abs(value) < 0.001:
        return with_unit("< 0.001 %")
    digits = max(0, min(3, 2 - _magnitude(value)))
    # What is nearly all, or just beyond, must not be rounded to all.
    if round(value, digits) == 100 and value != 100:
        digits = 3
    return with_unit(f"{value:,.{digits}f} %")


def with_unit(text: str) -> str:
    """`20 ms`, of which no line ends before the unit."""
    return text.replace(" ", NO_BREAK)


def _magnitude(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def span(value_ns: float | None) -> str:
    """A duration; a dash for nothing."""
    return DASH if value_ns is None else with_unit(show_ns(round(value_ns)))


def rounded(value_ns: float | None) -> str:
    """A duration with three digits, however exact it is."""
    return DASH if value_ns is None else with_unit(show_ns(_three_digits(round(value_ns))))


def _three_digits(value: int) -> int:
    return round(value, 3 - len(str(abs(value)))) if abs(value) >= 1000 else value


def number(value: float | None) -> str:
    """A plain number with at most three digits after the point."""
    if value is None:
        return DASH
    if abs(value) >= 1e12 or 0 < abs(value) < 1e-3:
        return f"{value:.3g}"
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def brief(value: float) -> str:
    """A number with three digits, or all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def listed(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
