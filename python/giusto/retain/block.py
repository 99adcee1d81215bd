"""How rows lie in a file: blocks with a length, a checksum and the position of their first row.

A block is whole or it is not there: the checksum covers all of it, and positions go on from block to block.
Arrow's own file format closes with a footer, without which nothing in it can be found; here whatever comes
before a torn end is found without one.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

PREFIX = struct.Struct("<II")
FACTS = struct.Struct("<Iqqq")
HEADER_BYTES = PREFIX.size + FACTS.size
BODY_BYTES_MAX = 2**30
ROW_BYTES_LEAST = 49
"""What any row takes in a body: four integers of 8 bytes, one of 1, and four ends of 4 bytes."""


class Header(NamedTuple):
    """What a block says about itself. Wall clock = instant + `wall_offset_ns`."""

    body_bytes: int
    checksum: int
    rows: int
    first: int
    kept_ns: int
    wall_offset_ns: int

    @property
    def end(self) -> int:
        """The position behind its last row."""
        return self.first + self.rows


def encode(body: bytes, rows: int, first: int, kept_ns: int, wall_offset_ns: int) -> bytes:
    """A whole block."""
    facts = FACTS.pack(rows, first, kept_ns, wall_offset_ns)
    return PREFIX.pack(len(body), checksum(facts, body)) + facts + body


def checksum(facts: bytes, body: bytes | memoryview) -> int:
    """Of all that follows the prefix."""
    return zlib.crc32(body, zlib.crc32(facts))


def header(data: bytes | memoryview) -> Header | None:
    """The header at the beginning, if there is one that can be true."""
    if len(data) < HEADER_BYTES:
        return None
    found = Header(*PREFIX.unpack_from(data), *FACTS.unpack_from(data, PREFIX.size))
    plausible = 0 < found.body_bytes <= BODY_BYTES_MAX and found.rows > 0 and found.first >= 0
    return found if plausible else None


def body(data: bytes) -> memoryview | None:
    """The body of a block that is `data` as a whole; none if it is damaged."""
    found = header(data)
    if found is None or len(data) != HEADER_BYTES + found.body_bytes:
        return None
    inside = memoryview(data)
    facts, rest = inside[PREFIX.size : HEADER_BYTES], inside[HEADER_BYTES:]
    return rest if checksum(bytes(facts), rest) == found.checksum else None
