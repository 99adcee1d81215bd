"""Whose a folder is: one steward's at a time, until it ends in whatever way."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from giusto.errors import InvalidInput

LOCK = "owner"


class Claim:
    """A lock in a folder, which the system releases when the process ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            expected = "a folder of its own: another broker uses this one"
            raise InvalidInput("retain.folder", folder, expected) from None

    def release(self) -> None:
        """Let others have it; again does nothing."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __del__(self) -> None:
        if hasattr(self, "_lock"):
            self.release()
