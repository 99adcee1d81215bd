"""Waiting for what must happen, and what the system knows of a process: its memory and its open files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from raw import WATCHDOG_S

LOOK_EVERY_S = 0.01


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; `what` it is says the failure."""
    end = time.monotonic() + WATCHDOG_S
    while not condition():
        assert time.monotonic() < end, f"waited {WATCHDOG_S:.0f} s for {what}"
        time.sleep(LOOK_EVERY_S)


def rss_bytes(pid: int) -> int:
    """Memory of a process that is in RAM."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has no memory")


def open_files(pid: int) -> int:
    """File descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))
