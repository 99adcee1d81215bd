"""One file of a log: blocks one after the other; what lies behind the last whole block is put aside."""

from __future__ import annotations

import errno
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from giusto.errors import NotRetained
from giusto.retain import block

SUFFIX = ".log"
ASIDE = ".damaged"


class Handle:
    """An open file, for as long as somebody reads in it: also after it was removed."""

    def __init__(self, path: Path) -> None:
        self.number = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def __del__(self) -> None:
        if hasattr(self, "number"):
            os.close(self.number)


class Place(NamedTuple):
    """Where a block is, and which rows it has."""

    handle: Handle
    path: Path
    offset: int
    size: int
    first: int
    end: int


class Segment:
    """Rows from `first` up to `end`. The last segment of a log is read whole when it is opened.

    `known_end` is behind all rows that may have been in it, also behind those that are damaged.
    """

    def __init__(self, path: Path, first: int, *, is_last: bool = False) -> None:
        self.path, self.first = path, first
        self.began_ns = self.kept_ns = 0
        self.cut_bytes = 0
        self._stops, self._ends = array("q"), array("q")
        self._handle = Handle(path)
        self.bytes = self._scan(check=is_last)
        self.known_end = self.end
        if is_last:
            self._cut()

    @property
    def end(self) -> int:
        """The position behind the last row."""
        return self._ends[-1] if self._ends else self.first

    def append(self, data: bytes, rows: int, kept_ns: int) -> None:
        """Add a block, or nothing at all if the disk does not take it."""
        try:
            written = os.write(self._handle.number, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, f"{written} of {len(data)} bytes written")
        except OSError:
            os.ftruncate(self._handle.number, self.bytes)
            raise
        self.bytes += len(data)
        self._note(self.bytes, self.end + rows, kept_ns)

    def places(self, start: int, end: int) -> Iterator[Place]:
        """The blocks with rows from `start` up to `end`."""
        for at in range(bisect_right(self._ends, start), len(self._ends)):
            offset = self._stops[at - 1] if at else 0
            first = self._ends[at - 1] if at else self.first
            if first >= end:
                return
            yield Place(self._handle, self.path, offset, self._stops[at] - offset, first, self._ends[at])

    def sync(self) -> None:
        """Have the disk keep what was written."""
        os.fsync(self._handle.number)

    def limit(self, end: int) -> None:
        """Leave out blocks behind `end`: what they say of their positions cannot be true."""
        while self._ends and self._ends[-1] > end:
            self._ends.pop()
            self._stops.pop()

    def remove(self) -> None:
        """Take the file away; whoever reads in it now can go on."""
        self.path.unlink(missing_ok=True)

    def _scan(self, *, check: bool) -> int:
        """Find the blocks; the bytes that they take together, with `check` up to the last that is whole.

        A damaged block before that stays: it is found by its header, and whoever reads it is told.
        """
        size, offset, whole = os.fstat(self._handle.number).st_size, 0, 0
        while offset < size:
            head = block.header(os.pread(self._handle.number, block.HEADER_BYTES, offset))
            if head is None or head.first != self.end or offset + whole_bytes(head) > size:
                break
            if not check or block.body(os.pread(self._handle.number, whole_bytes(head), offset)) is not None:
                whole = len(self._ends) + 1
            offset += whole_bytes(head)
            self._note(offset, head.end, head.kept_ns)
        del self._stops[whole:], self._ends[whole:]
        return self._stops[-1] if whole else 0

    def _cut(self) -> None:
        """Take off what is not whole, and keep it beside the log."""
        self.cut_bytes = os.fstat(self._handle.number).st_size - self.bytes
        if not self.cut_bytes:
            return
        self.known_end = self.end + self.cut_bytes // block.ROW_BYTES_LEAST
        with self.path.with_suffix(ASIDE).open("ab") as aside:
            aside.write(os.pread(self._handle.number, self.cut_bytes, self.bytes))
            aside.flush()
            os.fsync(aside.fileno())
        os.ftruncate(self._handle.number, self.bytes)

    def _note(self, stop: int, end: int, kept_ns: int) -> None:
        # Others may read meanwhile: a block is there when its end is.
        if not self._ends:
            self.began_ns = kept_ns
        self._stops.append(stop)
        self._ends.append(end)
        self.kept_ns = kept_ns


def whole_bytes(head: block.Header) -> int:
    """The bytes of a block with its header."""
    return block.HEADER_BYTES + head.body_bytes


def read(place: Place) -> tuple[block.Header, memoryview]:
    """A block's header and body; raises `NotRetained` if it is damaged."""
    data = os.pread(place.handle.number, place.size, place.offset)
    head, inside = block.header(data), block.body(data)
    if head is None or inside is None:
        problem = f"positions {place.first} to {place.end - 1} are damaged (byte {place.offset})"
        raise NotRetained(str(place.path), problem)
    return head, inside


def file_name(first: int) -> str:
    """Names sort as positions do."""
    return f"{first:020d}{SUFFIX}"
