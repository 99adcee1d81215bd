"""How a file gets its name: when the disk has all of it, and at once."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def settle(path: Path, name: Path) -> int:
    """Give a file its name once the disk has it; its size. Raises `OSError` if there is one of that name."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
        size = os.fstat(file).st_size
    finally:
        os.close(file)
    if name.exists():
        raise FileExistsError(errno.EEXIST, "there is a file of that name", str(name))
    path.rename(name)
    return size
