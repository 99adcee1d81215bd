"""Files of records: whose they are, how far a batch goes through them, and which of them are new."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_NAME = re.compile(r"(?P<writer>.+)-(?P<number>\d+)\.parquet")


def by_writer(names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Files by their writer and their number; others are none of ours."""
    found: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None:
            found.setdefault(match["writer"], {})[int(match["number"])] = name
    return found


def reached(
    start: Mapping[str, int], files: Mapping[str, Mapping[int, str]], most: int | None
) -> dict[str, int]:
    """How far a batch goes: everything there is, or `most` files, each writer's in order."""
    found, rest = dict(start), most
    for writer in sorted(files):
        new = sorted(number for number in files[writer] if number > start.get(writer, -1))
        taken = new if rest is None else new[:rest]
        if taken:
            found[writer] = taken[-1]
        rest = None if rest is None else rest - len(taken)
    return found


def between(start: Mapping[str, int], end: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """Writer, and numbers after the first up to the second, where there is something new."""
    for writer, last in sorted(end.items()):
        if last > start.get(writer, -1):
            yield writer, start.get(writer, -1), last
