"""How much processor time this process and all that it started have used, as the system says."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
# Fields of /proc/PID/stat behind the name: the parent, and ticks of its own and of children that have ended.
PARENT, TICKS = 1, slice(11, 15)


def processor_s() -> float | None:
    """Seconds in all, or nothing where the system does not say."""
    if not (PROC / "self" / "stat").exists():
        return None
    known = {int(path.name): found for path in PROC.glob("[0-9]*") if (found := fields(path)) is not None}
    own = {os.getpid()}
    while more := {pid for pid, found in known.items() if int(found[PARENT]) in own} - own:
        own |= more
    ticks = sum(int(each) for pid in own for each in known[pid][TICKS])
    return ticks / os.sysconf("SC_CLK_TCK")


def fields(path: Path) -> list[str] | None:
    """What the system says of a process, behind its name; nothing of one that has ended."""
    try:
        return (path / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
