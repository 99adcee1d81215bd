"""Which files go into a stream: whole ones that can be read, each of them once, those with older rows first.

A file gets a second name in the folder that Spark watches; so it stays as long as it is needed, whatever the
writer of the trace removes. What was decided on each file is in a journal, by that second name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from giusto.pipeline.damage import checked
from giusto.pipeline.linking import link, link_name, linked_name
from giusto.pipeline.manifests import lines
from giusto.pipeline.tables.files import BadFile, Inspector, RecordFile, record_files
from giusto.pipeline.verdict import summed

# Rows that Spark gets at once; more are held back while it is busy with these.
ROWS_AT_ONCE = 4_000_000


class Intake:
    """The files of a folder on their way into a stream."""

    def __init__(self, records: Path, folder: Path) -> None:
        self.records = records
        self.links = folder / "intake"
        self.journal = folder / "files.jsonl"
        self.inspector = Inspector()
        self.good: dict[str, RecordFile] = {}
        self.bad: dict[str, BadFile] = {}
        self.marks: dict[str, list[int] | None] = {}
        self.unread: set[str] = set()
        self.links.mkdir(parents=True, exist_ok=True)
        if self.journal.exists():
            for entry in lines(self.journal):
                self._remember(entry)

    def begin(self, gone: Collection[str], read: Collection[str]) -> None:
        """Go on where a stream was: what it is done with is gone, and what it has not read waits."""
        self.remove(gone)
        for path in sorted(self.links.iterdir()):
            if path.name.startswith("."):
                path.unlink()
            elif path.name not in self.good:  # let in just before the last process ended
                self._write_down(self.inspector.look(path), linked_name(path.name))
        self.unread = {path.name for path in self.links.iterdir()} - set(read)

    def take(self) -> int:
        """Look for new files, and let some of them in: how many were looked at."""
        new = [path for path in record_files(self.records) if self._is_new(path)]
        taken = 0
        for path in sorted(new, key=newest_ns):
            if sum(self.good[name].rows for name in tuple(self.unread)) >= ROWS_AT_ONCE:
                break
            self._admit(path)
            taken += 1
        return taken

    def _is_new(self, path: Path) -> bool:
        """Whether there is something to decide: also on a bad file that was not yet whole."""
        name = link_name(path.name)
        return name not in self.good and (name not in self.bad or mark(path) != self.marks.get(name))

    @property
    def names(self) -> set[str]:
        """The files that were decided on, as they are called where they are from."""
        files: list[RecordFile | BadFile] = [*self.good.values(), *self.bad.values()]
        return {file.path.name for file in files}

    def was_read(self, names: Iterable[str]) -> None:
        """A micro-batch has had these."""
        self.unread.difference_update(names)

    def remove(self, names: Iterable[str]) -> None:
        """Nothing of these is needed any more."""
        for name in names:
            (self.links / name).unlink(missing_ok=True)

    def files(self, names: Iterable[str]) -> tuple[RecordFile, ...]:
        """Files that were let in, under the names that they have here."""
        found = [(self.links / name, self.good[name]) for name in sorted(names)]
        return tuple(RecordFile(path, file.rows, file.key, file.wall_offset_ns) for path, file in found)

    def bytes(self, names: Iterable[str]) -> int:
        """How large files are together."""
        return sum((self.links / name).stat().st_size for name in names)

    @property
    def left_out(self) -> dict[str, int]:
        """Rows of files that are not read, by reason."""
        return summed((file.reason, file.rows or 0) for file in self.bad.values())

    def _admit(self, path: Path) -> None:
        """Decide on a file; it is let in before that is written down."""
        seen = mark(path)
        found = self._looked_at(path)
        if not os.path.lexists(path):  # removed since it was listed
            return
        if isinstance(found, RecordFile) and found.rows:
            name = link_name(path.name)
            link(path, self.links / name)
            self.unread.add(name)
        self._write_down(found, path.name, seen)

    def _looked_at(self, path: Path) -> RecordFile | BadFile:
        """A file to its last page: Spark, once it knows of one, asks for it until it can be read."""
        first = self.inspector.look(path)
        found = checked(first)
        if isinstance(first, RecordFile) and isinstance(found, BadFile) and first.key is not None:
            del self.inspector.seen[first.key]  # a copy of it may be whole
        return found

    def _write_down(self, file: RecordFile | BadFile, name: str, seen: list[int] | None = None) -> None:
        entry = {"name": name, **described(file), "mark": seen}
        with self.journal.open("a+b") as journal:
            begin_line(journal)
            journal.write(json.dumps(entry).encode() + b"\n")
            journal.flush()
            os.fsync(journal.fileno())
        self._remember(entry)

    def _remember(self, entry: Mapping[str, Any]) -> None:
        path, name = self.records / entry["name"], link_name(entry["name"])
        if entry.get("reason") is not None:
            self.bad[name] = BadFile(path, entry["reason"], entry["detail"], entry["rows"])
            self.marks[name] = entry.get("mark")
            return
        key = None if entry["key"] is None else (entry["key"][0], entry["key"][1], entry["key"][2])
        self.good[name] = RecordFile(path, entry["rows"], key, entry["wall_offset_ns"])
        self.bad.pop(name, None)
        if key is not None:
            self.inspector.seen.setdefault(key, path)


def described(file: RecordFile | BadFile) -> dict[str, Any]:
    """A file as the journal has it."""
    if isinstance(file, BadFile):
        return {"rows": file.rows, "reason": file.reason, "detail": file.detail}
    return {"rows": file.rows, "key": file.key, "wall_offset_ns": file.wall_offset_ns}


def mark(path: Path) -> list[int] | None:
    """What changes when a file is written to; nothing of one that is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def begin_line(file: BinaryIO) -> None:
    """End a line that whoever was killed did not."""
    if file.seek(0, os.SEEK_END):
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")


def newest_ns(path: Path) -> tuple[int, str]:
    """When the last message in a file was sent, by its footer; files that say nothing come first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    newest = 0
    try:
        footer = pq.read_metadata(path)
        column = footer.schema.names.index("t_sent_ns")
        for group in range(footer.num_row_groups):
            statistics = footer.row_group(group).column(column).statistics
            if statistics is not None and statistics.has_min_max:
                newest = max(newest, statistics.max)
    except (pa.ArrowException, OSError, ValueError):
        return 0, path.name
    return newest, path.name
