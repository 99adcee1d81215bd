"""Which names a document may have: unknown ones are refused with the nearest known one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from giusto.errors import InvalidInput

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def table(value: object, path: str) -> dict[str, Any]:
    """A table of a document."""
    if not isinstance(value, dict):
        raise InvalidInput(path, value, f"a table: [{path}]")
    return value


def require_known(name: str, known: Iterable[str], path: str) -> None:
    """Refuse an unknown name with the nearest known one."""
    names = list(known)
    if name not in names:
        near = get_close_matches(name, names, n=1)
        expected = f"{near[0]}, the nearest known name" if near else f"one of {', '.join(names)}"
        raise InvalidInput(path, "unknown", expected)


def quoted(key: str) -> str:
    """A key as it is written in a document."""
    return key if _BARE_KEY.fullmatch(key) else f'"{key}"'
