"""What a manifest says, line by line: files that came and went, records that were not kept and why.

Lines are only added. If the disk takes none they wait in memory, and counts of one kind become one line.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DROPPED = ("ring", "disk", "sampling")
"""Why records were not kept: no room in memory, none on the disk, of a message that is not sampled."""


class Manifest:
    """The manifest of one run at one node, locked while its writer lives. Every thread may speak to it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._lock = threading.Lock()
        self._waiting: list[dict[str, Any]] = []
        self._dropped: Counter[str] = Counter()

    def add(self, event: str, **values: object) -> None:
        """Say something; it is on the disk after the next `flush` that succeeds."""
        with self._lock:
            self._waiting.append({"event": event, **values})

    def drop(self, rows: int, reason: str) -> None:
        """Say that records were not kept."""
        with self._lock:
            if rows:
                self._dropped[reason] += rows

    def flush(self) -> bool:
        """Write what waits; False if the disk did not take it, and it waits on."""
        with self._lock:
            return self._flush()

    def _flush(self) -> bool:
        dropped = [{"event": "dropped", "rows": n, "reason": reason} for reason, n in self._dropped.items()]
        lines = "".join(json.dumps(line) + "\n" for line in [*dropped, *self._waiting]).encode()
        size = os.fstat(self._file).st_size
        try:
            if lines and os.write(self._file, lines) < len(lines):
                # Half a line would be read as none: what was written is taken back.
                os.ftruncate(self._file, size)
                return False
        except OSError:
            return False
        self._waiting.clear()
        self._dropped.clear()
        return True

    def close(self) -> None:
        os.close(self._file)


def is_written(path: Path) -> bool:
    """Whether somebody who lives writes this manifest."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """What a manifest says; a last line that was cut off is left out."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            yield said
