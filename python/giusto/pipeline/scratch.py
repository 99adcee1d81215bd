"""Where Spark keeps what nobody needs later: a temporary folder that is removed, also after a crash.

The owner of a folder holds a lock in it, which the system releases however the owner ends. A folder whose
lock is free is removed by whoever makes the next one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "giusto-spark-"
LOCK = "owner"


class Scratch:
    """A folder of this process."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        remove_orphans(parent)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        self._lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """The folder and all in it; again does nothing."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def remove_orphans(parent: Path) -> None:
    """Remove the folders of this user whose owners are gone."""
    for path in parent.glob(f"{PREFIX}*"):
        try:
            lock = os.open(path / LOCK, os.O_RDWR)
        except OSError:
            continue  # another user's, or being made or removed just now
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue  # its owner lives
        finally:
            os.close(lock)
