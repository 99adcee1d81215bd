"""Which files of records have to go, so that the disk stays bounded: the oldest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Reason = Literal["age", "size"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A file on the disk; `since_ns` is when it was finished, by the wall clock."""

    name: str
    bytes: int
    since_ns: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What the files of one node may take; 0 is no limit."""

    max_bytes: int = 0
    max_age_ns: int = 0


def surplus(files: Iterable[Kept], limits: Limits, now_ns: int) -> list[tuple[Kept, Reason]]:
    """The files that have to go and why. The newest stays, however large it is: it has just been written."""
    oldest_first = sorted(files, key=lambda file: (file.since_ns, file.name))
    total = sum(file.bytes for file in oldest_first)
    gone: list[tuple[Kept, Reason]] = []
    for file in oldest_first[:-1]:
        is_old = limits.max_age_ns > 0 and now_ns - file.since_ns > limits.max_age_ns
        is_too_much = limits.max_bytes > 0 and total > limits.max_bytes
        if not is_old and not is_too_much:
            break
        gone.append((file, "age" if is_old else "size"))
        total -= file.bytes
    return gone
