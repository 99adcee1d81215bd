"""The rows of a store page by page, without the tree above them: for a file whose root is damaged.

As SQLite lays a table out (https://sqlite.org/fileformat2.html): a leaf page has pointers to its cells, and a
cell has the length of its record, its place, and the record with the types of its columns before them. A page
that is free may still have rows that were deleted: whoever needs a contract no longer lets it expire.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from giusto.broker.rows import Row

LEAF = 0x0D
HEADER_BYTES = 8
PAGE_BYTES_LEAST = 512
# Its own length and four types, each of at most nine bytes.
HEADER_MAX = 45
# The first even number of a type that stands for bytes, and the first odd one that stands for text.
BLOB, TEXT = 12, 13


class Found(NamedTuple):
    """A row, and which place it had."""

    place: int
    row: Row


def rows_in(content: bytes) -> list[Row]:
    """The rows that are whole, the oldest first; of two with the same name the newer."""
    size = int.from_bytes(content[16:18], "big")
    size = 65_536 if size == 1 else max(size, PAGE_BYTES_LEAST)
    newest: dict[str, Found] = {}
    for start in range(size, len(content), size):
        for found in _rows_on(content[start : start + size]):
            known = newest.get(found.row.name)
            if found.row.is_whole and (known is None or known.place < found.place):
                newest[found.row.name] = found
    return [found.row for found in sorted(newest.values(), key=lambda one: one.place)]


def _rows_on(page: bytes) -> Iterator[Found]:
    if page[0] != LEAF:
        return
    count = min(int.from_bytes(page[3:5], "big"), (len(page) - HEADER_BYTES) // 2)
    for number in range(count):
        at = HEADER_BYTES + 2 * number
        try:
            found = _cell(page, int.from_bytes(page[at : at + 2], "big"))
        except (IndexError, UnicodeDecodeError):
            continue
        if found is not None:
            yield found


def _cell(page: bytes, at: int) -> Found | None:
    """The row of a cell; none if it is not one of ours. Raises `IndexError` beyond the page."""
    _, at = _number(page, at)
    place, at = _number(page, at)
    header, first = _number(page, at)
    if header > HEADER_MAX:
        return None
    types: list[int] = []
    while first < at + header:
        kind, first = _number(page, first)
        types.append(kind)
    # The place is not stored twice.
    if len(types) != 4 or types[0] != 0 or types[1] < TEXT or types[1] % 2 == 0:
        return None
    if any(kind < BLOB or kind % 2 for kind in types[2:]):
        return None
    name, at = _bytes(page, at + header, (types[1] - TEXT) // 2)
    body, at = _bytes(page, at, (types[2] - BLOB) // 2)
    digest, _ = _bytes(page, at, (types[3] - BLOB) // 2)
    return Found(place, Row(name.decode(), body, digest))


def _bytes(page: bytes, at: int, length: int) -> tuple[bytes, int]:
    return page[at : at + length], at + length


def _number(page: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends: seven bits each, of the ninth all eight."""
    value = 0
    for place in range(8):
        byte = page[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | page[at + 8], at + 9
