"""Where finished files go: a whole file under its name or none, a line in the manifest, within the limits.

It may wait for the disk as long as that takes. The one who gathers records calls it from a thread of its own.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from giusto.errors import InvalidInput
from giusto.trace import layout
from giusto.trace.facts import write_facts
from giusto.trace.keeping import Limits
from giusto.trace.manifest import Manifest, is_written, lines
from giusto.trace.room import Room
from giusto.trace.settling import settle

_log = logging.getLogger("giusto.trace")


class Shelf:
    """The files of one run at one node."""

    def __init__(self, folder: Path, node: str, run: str, limits: Limits) -> None:
        self.run = run
        self.node = node
        self._folder = folder
        self._prefix = layout.prefix_of(node, run)
        self._room = Room(folder, node, self._prefix, limits)
        self._rows: dict[str, int] = {}
        self._facts: dict[str, Any] | None = None
        try:
            for part in (layout.RECORDS, layout.MANIFEST, layout.FACTS):
                (folder / part).mkdir(parents=True, exist_ok=True)
            self.manifest = Manifest(folder / layout.MANIFEST / layout.manifest_name(self._prefix))
            self._sweep()
            self._sequence = self._last_number(layout.RECORDS)
            self._facts_count = self._last_number(layout.FACTS)
            self._room.forget_runs()
        except OSError as error:
            raise InvalidInput(
                "trace.folder", folder, f"a folder that can be written: {error.strerror}"
            ) from None

    @property
    def _records(self) -> Path:
        return self._folder / layout.RECORDS

    def _sweep(self) -> None:
        """Remove what writers that were killed have left unfinished."""
        for path in self._records.glob(f".{layout.node_prefix(self.node)}*.tmp"):
            prefix = layout.run_prefix(path.name)
            if prefix is None or is_written(self._folder / layout.MANIFEST / layout.manifest_name(prefix)):
                continue
            path.unlink(missing_ok=True)

    def _last_number(self, part: str) -> int:
        """The highest number of a file of this run: whoever wrote before under the same name is followed."""
        written = [path.name for path in (self._folder / part).glob(f"{self._prefix}-*")]
        if part == layout.RECORDS:
            manifest = self._folder / layout.MANIFEST / layout.manifest_name(self._prefix)
            written += [str(line.get("name")) for line in lines(manifest)]
        return max(map(layout.number_of, written), default=0)

    def next_file(self) -> tuple[int, Path]:
        """The number of the next file, and where it is to be written."""
        self._sequence += 1
        name = layout.records_name(self._prefix, self._sequence)
        return self._sequence, self._records / layout.unfinished_name(name)

    def finish(self, path: Path, facts: layout.FileFacts) -> None:
        """Give a complete file its name; if the disk does not take it, its rows are counted as dropped."""
        name = layout.records_name(self._prefix, facts.sequence)
        try:
            size = settle(path, self._records / name)
        except OSError as error:
            _log.warning("the disk did not take %s: %s", name, error)
            self.manifest.drop(facts.rows, "disk")
            remove(path)
        else:
            self._rows[name] = facts.rows
            self.manifest.add(
                "file",
                name=name,
                rows=facts.rows,
                bytes=size,
                first_ns=facts.first_ns,
                last_ns=facts.last_ns,
            )
            self._make_room()
        self.manifest.flush()

    def _make_room(self) -> None:
        for path, reason in self._room.surplus(time.time_ns()):
            is_of_records = path.parent == self._records
            rows = self._rows.pop(path.name, None)
            rows = _rows_of(path) if rows is None and is_of_records else rows
            if remove(path) and is_of_records:
                self.manifest.add("removed", name=path.name, rows=rows, reason=reason)

    def state(self, facts: dict[str, Any]) -> None:
        """Write what the records alone do not say, unless it is as it was."""
        plain = {key: value for key, value in facts.items() if key not in ("at_ns", "wall_offset_ns")}
        if plain == self._facts:
            return
        try:
            write_facts(self._folder, facts, self._facts_count + 1)
        except OSError as error:
            _log.warning("the disk did not take the facts: %s", error)
            return
        self._facts = plain
        self._facts_count += 1
        self._make_room()

    def close(self) -> None:
        """Nothing more comes."""
        self.manifest.add("ended")
        self.manifest.flush()
        self.manifest.close()


def remove(path: Path) -> bool:
    """Remove a file if the disk lets it; whether it is gone."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("%s cannot be removed: %s", path.name, error)
        return False
    return True


def _rows_of(path: Path) -> int | None:
    """The rows of a file of an earlier run, if it can be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return None
