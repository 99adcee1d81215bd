"""How a file gets its name: when the disk has all of it, and at once."""

from __future__ import annotations

import os
from pathlib import Path


def settle(path: Path, name: Path) -> int:
    """Give a file its name once the disk has it; its size."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
        size = os.fstat(file).st_size
    finally:
        os.close(file)
    path.rename(name)
    return size
