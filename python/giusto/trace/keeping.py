"""Which files of a trace have to go, so that the disk stays bounded: the oldest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Reason = Literal["age", "size"]
MANIFESTS_MAX = 100
"""So many manifests of runs of which no file is left stay: they are small, and tell what was not kept."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file on the disk; `since_ns` is when it was finished, or facts ceased to hold, by the wall clock."""

    name: str
    bytes: int
    since_ns: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What the files of one node may take; 0 is no limit."""

    max_bytes: int = 0
    max_age_ns: int = 0

    def beside(self, size_bytes: int) -> Limits:
        """What is left for the others beside something that cannot go."""
        left = max(1, self.max_bytes - size_bytes) if self.max_bytes else 0
        return Limits(left, self.max_age_ns)


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


def superseded(facts: list[Kept], last_ns: int) -> list[Kept]:
    """Facts of a run, in their order, each with the instant until which it held."""
    until = [file.since_ns for file in facts[1:]]
    return [
        Kept(file.name, file.bytes, end_ns) for file, end_ns in zip(facts, [*until, last_ns], strict=True)
    ]
