"""What can still be read of a store that is damaged: every row outside the damage, checked by its digest.

Reading goes up from the first row and down from the last until it meets damage. What remains between is read
in the same way from its middle, the widest gap first, as often as is sensible.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from heapq import heappop, heappush
from typing import NamedTuple

from giusto.broker.rows import Row

DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What reading raises: what SQLite says of a damaged name has that name, which need not be text any more."""

READS_MAX = 20_000
"""Reads that may be spent on finding rows: a damaged page hides few rows, but any number of places."""

PLACE_GUESS = 2**20
"""What the last place is taken for if nothing tells it."""

_UP = "SELECT place, name, body, digest FROM kept NOT INDEXED WHERE place BETWEEN ? AND ? ORDER BY place"
# The index has the names too, and need not be damaged where the rows are.
_NAMES = "SELECT name FROM kept INDEXED BY sqlite_autoindex_kept_1"
# Whichever of these is not damaged.
_LAST = (
    "SELECT seq FROM sqlite_sequence WHERE name = 'kept'",
    "SELECT max(place) FROM kept INDEXED BY sqlite_autoindex_kept_1",
    "SELECT max(place) FROM kept NOT INDEXED",
)


class Salvaged(NamedTuple):
    """The rows that are whole, the oldest first, and the names of those that are not, as far as is known."""

    rows: list[Row]
    lost: set[str]
    is_complete: bool


def salvage(database: sqlite3.Connection) -> Salvaged:
    """What a damaged store still has; nothing of it is changed."""
    found: dict[int, Row] = {}
    gaps = _first_gap(database, found) if _has_table(database) else []
    reads = READS_MAX
    while gaps and reads > 0:
        _, first, last = heappop(gaps)
        middle = (first + last + 1) // 2
        above = _read_up(database, middle, last, found), last
        below = first, _read_down(database, first, middle - 1, found)
        for start, end in (above, below):
            if start <= end:
                heappush(gaps, (start - end, start, end))
        reads -= 2
    rows = [found[place] for place in sorted(found)]
    whole = [row for row in rows if row.is_whole]
    names, is_complete = _names(database)
    return Salvaged(whole, (names | {row.name for row in rows}) - {row.name for row in whole}, is_complete)


def _first_gap(database: sqlite3.Connection, found: dict[int, Row]) -> list[tuple[int, int, int]]:
    """Read from both ends; the gap between them as the only one of its heap, if there is one."""
    last = _last_place(database)
    first = _read_up(database, 1, last, found)
    last = _read_down(database, first, last, found) if first <= last else last
    return [(first - last, first, last)] if first <= last else []


def _last_place(database: sqlite3.Connection) -> int:
    for query in _LAST:
        with suppress(*DAMAGE):
            found = database.execute(query).fetchone()
            if found is not None and isinstance(found[0], int):
                return found[0]
    return PLACE_GUESS


def _read_up(database: sqlite3.Connection, first: int, last: int, found: dict[int, Row]) -> int:
    """Read upwards from a place; the first one that is not known then."""
    read = _read(database, _UP, first, last)
    found.update(read.rows)
    known = max(read.rows, default=first - 1)
    return last + 1 if read.is_complete or first == last else known + 1


def _read_down(database: sqlite3.Connection, first: int, last: int, found: dict[int, Row]) -> int:
    """Read downwards to a place; the last one that is not known then."""
    read = _read(database, f"{_UP} DESC", first, last)
    found.update(read.rows)
    known = min(read.rows, default=last + 1)
    return first - 1 if read.is_complete or first == last else known - 1


class _Read(NamedTuple):
    rows: dict[int, Row]
    is_complete: bool


def _read(database: sqlite3.Connection, query: str, first: int, last: int) -> _Read:
    rows: dict[int, Row] = {}
    try:
        _fetch(database, query, first, last, rows)
        return _Read(rows, True)
    except DAMAGE:
        # The row before the damage is not among them: going on from it is what failed.
        if query == _UP:
            first = max(rows, default=first - 1) + 1
        else:
            last = min(rows, default=last + 1) - 1
    with suppress(*DAMAGE):
        _fetch(database, f"{query} LIMIT 1", first, last, rows)
    return _Read(rows, False)


def _fetch(database: sqlite3.Connection, query: str, first: int, last: int, rows: dict[int, Row]) -> None:
    for place, *columns in database.execute(query, (first, last)):
        rows[place] = row_in(*columns)


def row_in(name: object, body: object, digest: object) -> Row:
    """A row as it was read: what is not of its kind is damaged, and its digest will say so."""
    return Row(str(name), _bytes(body), _bytes(digest))


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _names(database: sqlite3.Connection) -> tuple[set[str], bool]:
    names: set[str] = set()
    try:
        for (name,) in database.execute(_NAMES):
            names.add(str(name))
    except DAMAGE:
        return names, False
    return names, True


def _has_table(database: sqlite3.Connection) -> bool:
    try:
        found = database.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'kept'").fetchone()
    except DAMAGE:
        return False
    return bool(found[0])
