"""Which files go into a stream: whole ones that can be read, each of them once, those with older rows first.

A file gets a second name in the folder that Spark watches; so it stays as long as it is needed, whatever the
writer of the trace removes. What was decided on each file is in a journal, by that second name, with how many
rows it has of each run and slice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from giusto.pipeline.damage import checked
from giusto.pipeline.linking import link, link_name, linked_name
from giusto.pipeline.manifests import lines
from giusto.pipeline.streaming.census import Census
from giusto.pipeline.streaming.slices import Group
from giusto.pipeline.tables.files import BadFile, Inspector, RecordFile, record_files
from giusto.pipeline.verdict import summed

# Rows that Spark gets at once. While it is busy with them as many wait for their turn; more are held back.
ROWS_AT_ONCE = 4_000_000
Groups = tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that was looked at, and what was found: `groups` has the rows of a good one without bad rows."""

    path: Path
    mark: list[int] | None
    file: RecordFile | BadFile
    groups: Groups | None


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
        self.groups: dict[str, Groups | None] = {}
        self.unread: set[str] = set()
        self._ages: dict[Path, tuple[list[int] | None, int]] = {}
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
        here = {path.name for path in self.links.iterdir()}
        self.groups = {name: groups for name, groups in self.groups.items() if name in here}
        self.unread = here - set(read)

    def take(self) -> int:
        """Look for new files, and let some of them in, all at once: how many were looked at."""
        new = [path for path in record_files(self.records) if self._is_new(path)]
        rows, taken = self.unread_rows, []
        for path in sorted(new, key=self._age):
            if rows >= ROWS_AT_ONCE:
                break
            taken.append(self._looked_at(path))
            rows += taken[-1].file.rows or 0
        for seen in taken:
            self._admit(seen)
        return len(taken)

    @property
    def unread_rows(self) -> int:
        """Rows that no micro-batch has had."""
        return sum(self.good[name].rows for name in tuple(self.unread))

    def _age(self, path: Path) -> tuple[int, str]:
        """By what new files are sorted; their footers are read once."""
        seen = mark(path)
        known = self._ages.get(path)
        if known is None or known[0] != seen:
            known = self._ages[path] = seen, newest_ns(path)
        return known[1], path.name

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
            self.groups.pop(name, None)

    def files(self, names: Iterable[str]) -> tuple[RecordFile, ...]:
        """Files that were let in, under the names that they have here."""
        found = [(self.links / name, self.good[name]) for name in sorted(names)]
        return tuple(replace(file, path=path) for path, file in found)

    def bytes(self, names: Iterable[str]) -> int:
        """How large files are together."""
        return sum((self.links / name).stat().st_size for name in names)

    @property
    def left_out(self) -> dict[str, int]:
        """Rows of files that are not read, by reason."""
        return summed((file.reason, file.rows or 0) for file in self.bad.values())

    def _admit(self, seen: Seen) -> None:
        """Decide on a file; it is let in before that is written down."""
        path = seen.path
        self._ages.pop(path, None)
        if not os.path.lexists(path):  # removed since it was listed
            return
        if isinstance(seen.file, RecordFile) and seen.file.rows:
            name = link_name(path.name)
            link(path, self.links / name)
            self.unread.add(name)
        self._write_down(seen.file, path.name, seen.mark, seen.groups)

    def _looked_at(self, path: Path) -> Seen:
        """A file to its last page: Spark, once it knows of one, asks for it until it can be read."""
        seen, census = mark(path), Census()
        first = self.inspector.look(path)
        found = checked(first, census.add)
        if isinstance(first, RecordFile) and isinstance(found, BadFile) and first.key is not None:
            del self.inspector.seen[first.key]  # a copy of it may be whole
        return Seen(path, seen, found, census.groups(link_name(path.name)))

    def _write_down(
        self,
        file: RecordFile | BadFile,
        name: str,
        seen: list[int] | None = None,
        groups: Groups | None = None,
    ) -> None:
        entry = {
            "name": name,
            **described(file),
            "mark": seen,
            "groups": None if groups is None else listed(groups),
        }
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
        self.good[name] = RecordFile(
            path, entry["rows"], key, entry["wall_offset_ns"], entry.get("sampling", 1)
        )
        self.bad.pop(name, None)
        groups = entry.get("groups")
        self.groups[name] = None if groups is None else grouped(name, groups)
        if key is not None:
            self.inspector.seen.setdefault(key, path)


def described(file: RecordFile | BadFile) -> dict[str, Any]:
    """A file as the journal has it."""
    if isinstance(file, BadFile):
        return {"rows": file.rows, "reason": file.reason, "detail": file.detail}
    said = {"wall_offset_ns": file.wall_offset_ns, "sampling": file.sampling}
    return {"rows": file.rows, "key": file.key, **said}


def listed(groups: Groups) -> list[list[Any]]:
    """Rows by run and slice as the journal has them."""
    return [[group.run, group.slice, group.rows, group.newest_ns] for group in groups]


def grouped(name: str, kept: Iterable[Any]) -> Groups:
    """From the journal."""
    return tuple(Group(name, run, number, None, rows, newest_ns) for run, number, rows, newest_ns in kept)


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


def newest_ns(path: Path) -> int:
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
        return 0
    return newest
