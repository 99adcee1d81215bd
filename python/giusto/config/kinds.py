"""What a setting may be: each kind reads a value of a file or a text of the environment, or refuses it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias
from urllib.parse import urlsplit

from giusto import _core
from giusto.contract import duration_ns
from giusto.errors import InvalidInput

Read: TypeAlias = Callable[[object, str], object]

_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}
_WHOLE = re.compile(r"[0-9]{1,30}")
_SPAN = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_BANDWIDTH = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(?: ?([kMGT]?)bit/s)?")
_BITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BANDWIDTH_MAX = 10**15
CPU_MAX = 4_095


def whole(least: int, most: int) -> Read:
    """A whole number from `least` to `most`."""

    def read(value: object, path: str) -> int:
        number = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value.strip()) else value
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise InvalidInput(path, value, f"a whole number from {least} to {most}")
        return number

    return read


def number(least: float, most: float) -> Read:
    """A number from `least` to `most`."""

    def read(value: object, path: str) -> float:
        expected = f"a number from {least:g} to {most:g}"
        try:
            found = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise InvalidInput(path, value, expected) from None
        if isinstance(value, bool) or not least <= found <= most:
            raise InvalidInput(path, value, expected)
        return found

    return read


def time(least: str) -> Read:
    """A duration of at least `least`, as nanoseconds."""

    def read(value: object, path: str) -> int:
        if not isinstance(value, str | int | float):
            raise InvalidInput(path, value, 'a duration such as "20ms"')
        return duration_ns(value, path, least_ns=duration_ns(least))

    return read


def choice(*names: str) -> Read:
    """One of some names."""

    def read(value: object, path: str) -> str:
        if not isinstance(value, str) or value not in names:
            raise InvalidInput(path, value, " or ".join(names))
        return value

    return read


def flag(value: object, path: str) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else ""
    if text not in _TRUE | _FALSE:
        raise InvalidInput(path, value, "true or false")
    return text in _TRUE


def addresses(value: object, path: str) -> tuple[str, ...]:
    """Where to listen: one address or several."""
    several = _several(value)
    if not several:
        raise InvalidInput(path, value, 'addresses such as "tcp://127.0.0.1:7447"')
    return tuple(_address(each, f"{path}[{place}]") for place, each in enumerate(several))


def _address(value: object, path: str) -> str:
    expected = "tcp://host:port, udp://host:port or unix:///path"
    if not isinstance(value, str):
        raise InvalidInput(path, value, expected)
    try:
        url = urlsplit(value)
        port, host = url.port, url.hostname
    except ValueError:
        raise InvalidInput(path, value, expected) from None
    inet = url.scheme in ("tcp", "udp") and host and port is not None and not url.path
    if not inet and not (url.scheme == "unix" and not url.netloc and len(url.path) > 1):
        raise InvalidInput(path, value, expected)
    return value


def cpus(value: object, path: str) -> tuple[int, ...]:
    """Processors: numbers, or spans such as "2-3"."""
    found: set[int] = set()
    for each in _several(value):
        span = _SPAN.fullmatch(each.strip()) if isinstance(each, str) else None
        first, last = (int(span[1]), int(span[2] or span[1])) if span else (each, each)
        for end in (first, last):
            if isinstance(end, bool) or not isinstance(end, int) or not 0 <= end <= CPU_MAX:
                raise InvalidInput(path, value, 'processors such as [2, 3] or "2-3"')
        several = range(int(str(first)), int(str(last)) + 1)
        if not several:
            raise InvalidInput(path, value, 'processors from the lower to the higher number, such as "2-5"')
        found.update(several)
    return tuple(sorted(found))


def path(value: object, path: str) -> str:
    """Where a file is."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise InvalidInput(path, value, 'the path of a file, such as "/var/lib/giusto/contracts.db"')
    return value


def patterns(value: object, path: str) -> tuple[str, ...]:
    """Topics with or without wildcards: one or several."""
    found = []
    for place, each in enumerate(_several(value)):
        if not isinstance(each, str):
            raise InvalidInput(f"{path}[{place}]", each, "a pattern such as ward/+/alarm")
        try:
            _core.topic_matches(each, "any")
        except InvalidInput as error:
            raise InvalidInput(f"{path}[{place}]", error.value, error.expected) from None
        found.append(each)
    return tuple(dict.fromkeys(found))


def names(value: object, path: str) -> tuple[str, ...]:
    """Names of clients: one or several."""
    found = _several(value)
    for place, each in enumerate(found):
        if not isinstance(each, str) or not each:
            raise InvalidInput(f"{path}[{place}]", each, "the name of a client, such as auditor")
    return tuple(dict.fromkeys(str(each) for each in found))


def bandwidth(value: object, path: str) -> int:
    """Bits per second: "1Gbit/s" or a whole number."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    found = _BANDWIDTH.fullmatch(text.strip()) if isinstance(text, str) else None
    bits = None if found is None else Fraction(found[1]) * _BITS[found[2] or ""]
    if bits is None or bits.denominator != 1 or bits > BANDWIDTH_MAX:
        raise InvalidInput(path, value, 'a bandwidth such as "1Gbit/s", "100Mbit/s", or bits per second')
    return int(bits)


def _several(value: object) -> Sequence[object]:
    """A list; a text is a list with commas, a single value a list of one."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value if isinstance(value, list | tuple) else [value]
