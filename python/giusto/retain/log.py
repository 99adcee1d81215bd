"""A bounded log of rows: what is kept, for how long, and what a reader gets for a range of positions.

Positions count rows from 0. A row is there when the system has its bytes: it survives the end of the process
at once, a loss of power after the next `sync`. What is damaged leaves a hole: no other row gets its position.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from giusto.errors import InvalidInput, NotRetained
from giusto.retain import block, columns, segment
from giusto.retain.choosing import EVERYTHING, Choice
from giusto.retain.cursors import Cursors, replace
from giusto.retain.segment import Place, Segment

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
FACTS = "log.json"
SEGMENTS = 16
SEGMENT_BYTES = (64 * 1024, 64 * 1024 * 1024)
SCAN_BYTES = 8 * 1024 * 1024
"""What one fetch looks at, at most: a filter that lets nothing pass must not hold everybody else up."""

_log = logging.getLogger("giusto.retain")


@dataclass(frozen=True, slots=True)
class Bounds:
    """For how long rows are kept; 0 is no limit. `until_read`: no longer than all known queries need them.

    With `sync_first` a row is there when the disk has it.
    """

    max_bytes: int = 1 << 30
    max_age_ns: int = 0
    until_read: bool = False
    sync_first: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """Rows of a range, where to go on: behind the last row that was looked at, and how many are damaged."""

    batches: list[pa.RecordBatch]
    next: int
    damaged: int = 0


@dataclass(slots=True)
class Losses:
    """Rows that the log does not have, by reason."""

    disk: int = 0
    cut_bytes: int = 0


class Log:
    """All rows of one pattern, in a folder of its own. Any thread may call."""

    def __init__(self, folder: Path, pattern: str, bounds: Bounds | None = None) -> None:
        self.folder, self.pattern = folder, pattern
        self.bounds = Bounds() if bounds is None else bounds
        self.losses = Losses()
        folder.mkdir(parents=True, exist_ok=True)
        self.id = self._identity()
        self.cursors = Cursors(folder)
        self._lock = threading.RLock()
        self._segments = self._open()
        self._synced = self.head

    # --- reading

    @property
    def first(self) -> int:
        """The position of the oldest row that is there."""
        with self._lock:
            return self._segments[0].first

    @property
    def head(self) -> int:
        """The position that the next row gets."""
        with self._lock:
            return self._segments[-1].end

    @property
    def bytes(self) -> int:
        """What it takes on disk."""
        with self._lock:
            return sum(one.bytes for one in self._segments)

    def fetch(
        self,
        start: int,
        end: int,
        choice: Choice = EVERYTHING,
        most_bytes: int = SCAN_BYTES,
        *,
        skips_damage: bool = False,
    ) -> Fetched:
        """The chosen rows from `start` up to, not including, `end`; not all of them if these are many.

        Raises `NotRetained` for positions that are gone or not there yet, and for those that are damaged
        unless it is told to go on without them.
        """
        batches: list[pa.RecordBatch] = []
        found_bytes = scanned_bytes = damaged = 0
        at = start
        for place in self._places(start, end):
            if scanned_bytes and (found_bytes >= most_bytes or scanned_bytes >= SCAN_BYTES):
                return Fetched(batches, at, damaged)
            rows = self._readable(place, at, end, skips_damage)
            until = min(place.end, end)
            damaged += until - at - (0 if rows is None else rows.num_rows)
            if rows is not None:
                chosen = choice.of(rows)
                batches += [chosen] if chosen.num_rows else []
                found_bytes += chosen.nbytes
            scanned_bytes += place.size
            at = until
        if at < end and not skips_damage:
            raise self._damaged(at, end)
        return Fetched(batches, end, damaged + end - at)

    def _readable(self, place: Place, at: int, end: int, skips_damage: bool) -> pa.RecordBatch | None:
        """The rows of a block; none, or an exception, if they are damaged or those before it are."""
        if at < place.first and not skips_damage:
            raise self._damaged(at, place.first)
        try:
            return _slice(place, max(at, place.first), end)
        except NotRetained:
            if not skips_damage:
                raise
            return None

    def _damaged(self, start: int, end: int) -> NotRetained:
        problem = f"positions {start} to {end - 1} were damaged"
        return NotRetained(self.pattern, f"{problem}; failOnDataLoss=false goes on without them")

    def _places(self, start: int, end: int) -> Iterator[Place]:
        with self._lock:
            if not self.first <= start <= end <= self.head:
                raise NotRetained(self.pattern, _missing(start, end, self.first, self.head))
            reached = [one for one in self._segments if one.end > start and one.first < end]
        return (place for one in reached for place in one.places(start, end))

    # --- writing

    def append(self, rows: pa.RecordBatch, wall_ns: int, wall_offset_ns: int) -> bool:
        """Keep rows; whether the disk took them. What it did not take is counted, and the log goes on."""
        body = rows.serialize().to_pybytes()
        with self._lock:
            last = self._segments[-1]
            data = block.encode(body, rows.num_rows, last.end, wall_ns, wall_offset_ns)
            try:
                if self._is_full(last, len(data), wall_ns):
                    last = self._roll()
                last.append(data, rows.num_rows, wall_ns)
                if self.bounds.sync_first:
                    self.sync()
            except OSError as error:
                if not self.losses.disk:
                    _log.error("%s: messages are not retained: %s", self.pattern, error)
                self.losses.disk += rows.num_rows
                return False
        return True

    def sync(self) -> None:
        """Have the disk keep what was appended."""
        with self._lock:
            last, head = self._segments[-1], self.head
        if head > self._synced:
            last.sync()
            self._synced = head

    def trim(self, wall_ns: int) -> int:
        """Remove the oldest segments that the bounds do not allow any more; how many rows those were."""
        with self._lock:
            before, last = self.first, self._segments[-1]
            if last.bytes and self._is_too_old(last, wall_ns):
                self._roll()
            while len(self._segments) > 1 and self._is_over(self._segments[0], wall_ns):
                self._segments.pop(0).remove()
            return self.first - before

    def commit(self, query: str, position: int, wall_ns: int) -> None:
        """A query has done with all before `position`, also if this process dies now."""
        if not 0 <= position <= self.head:
            raise InvalidInput("position", position, f"a position up to {self.head}")
        with self._lock:
            self.cursors.move(query, position, wall_ns)

    def close(self) -> None:
        """Write all to disk."""
        self.sync()

    # --- inside

    @property
    def _segment_bytes(self) -> int:
        least, most = SEGMENT_BYTES
        return min(max(self.bounds.max_bytes // SEGMENTS, least), most) if self.bounds.max_bytes else most

    def _is_full(self, last: Segment, more_bytes: int, wall_ns: int) -> bool:
        """Whether a block of `more_bytes` belongs into a new segment; only whole segments are removed."""
        span_ns = self.bounds.max_age_ns // SEGMENTS
        is_long = 0 < span_ns < wall_ns - last.began_ns
        return last.bytes > 0 and (last.bytes + more_bytes > self._segment_bytes or is_long)

    def _is_over(self, oldest: Segment, wall_ns: int) -> bool:
        too_large = 0 < self.bounds.max_bytes < self.bytes
        read = self.cursors.least if self.bounds.until_read else None
        return too_large or self._is_too_old(oldest, wall_ns) or (read is not None and oldest.end <= read)

    def _is_too_old(self, one: Segment, wall_ns: int) -> bool:
        return 0 < self.bounds.max_age_ns < wall_ns - one.kept_ns

    def _roll(self) -> Segment:
        """Close the last segment for good and begin another."""
        sealed = self._segments[-1]
        sealed.sync()
        self._segments.append(Segment(self.folder / segment.file_name(sealed.end), sealed.end))
        return self._segments[-1]

    def _identity(self) -> str:
        path = self.folder / FACTS
        if not path.exists():
            replace(path, json.dumps({"id": uuid4().hex, "pattern": self.pattern, "format": FORMAT}))
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            identity, pattern, version = str(facts["id"]), facts["pattern"], facts["format"]
        except (KeyError, TypeError, ValueError):
            raise NotRetained(str(path), "not the description of a log; choose another folder") from None
        if (pattern, version) != (self.pattern, FORMAT):
            raise NotRetained(str(path), f"a log of {pattern}, format {version}; choose another folder")
        return identity

    def _open(self) -> list[Segment]:
        names = [path.stem for path in self.folder.glob(f"*{segment.SUFFIX}")]
        firsts = sorted(int(name) for name in names if name.isdecimal()) or [0]
        opened = [
            Segment(self.folder / segment.file_name(first), first, is_last=first == firsts[-1])
            for first in firsts
        ]
        self.losses.cut_bytes = opened[-1].cut_bytes
        if self.losses.cut_bytes:
            _log.warning(
                "%s: %d bytes behind the last whole block are put aside", self.pattern, self.losses.cut_bytes
            )
        for one, following in pairwise(opened):
            one.limit(following.first)
        return self._with_room(opened)

    def _with_room(self, opened: list[Segment]) -> list[Segment]:
        """Begin another segment if somebody may know positions that are not there any more."""
        last = opened[-1]
        next = max([last.known_end, *self.cursors.positions.values()])
        if next == last.end:
            return opened
        _log.error("%s: rows from position %d on are damaged or gone", self.pattern, last.end)
        fresh = Segment(self.folder / segment.file_name(next), next)
        if last.bytes:
            return [*opened, fresh]
        last.remove()
        return [*opened[:-1], fresh]


def _slice(place: Place, start: int, end: int) -> pa.RecordBatch:
    """The rows of a block that lie in a range."""
    import pyarrow as pa

    head, body = segment.read(place)
    rows = pa.ipc.read_record_batch(pa.py_buffer(body), columns.kept())
    all_of_it = columns.placed(rows, head.first, head.wall_offset_ns)
    from_row = max(0, start - head.first)
    return all_of_it.slice(from_row, min(end, head.end) - head.first - from_row)


def _missing(start: int, end: int, first: int, head: int) -> str:
    if start < first:
        gone = f"positions {start} to {max(start, min(first, end) - 1)} are gone"
        return f"{gone}: the log begins at {first}; retain.max_bytes and retain.max_age bound it"
    return f"positions {start} to {end - 1} are not there: the log ends before {head}"
