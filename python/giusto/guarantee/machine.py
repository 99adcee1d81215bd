"""Which machine and which build a calibration belongs to: figures of another one say nothing here."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, fields
from pathlib import Path

from giusto import _core

CPU_INFO = Path("/proc/cpuinfo")
CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What costs depend on; `source` is the digest of the Rust sources of the build."""

    cpu: str
    cores: int
    kernel: str
    clock: str
    version: str
    source: str


def this_machine() -> Machine:
    """The one that this runs on. What cannot be read is `unknown`."""
    return Machine(
        cpu=cpu_model(read(CPU_INFO)) or platform.machine() or "unknown",
        cores=os.cpu_count() or 1,
        kernel=f"{platform.system()} {platform.release()}",
        clock=read(CLOCK).strip() or "unknown",
        version=_core.VERSION,
        source=_core.SOURCE_DIGEST,
    )


def differences(one: Machine, other: Machine) -> list[str]:
    """The names of what is not the same."""
    names = [field.name for field in fields(Machine)]
    return [name for name in names if getattr(one, name) != getattr(other, name)]


def cpu_model(info: str) -> str | None:
    """The name of the first processor in the kernel's list."""
    found = re.search(r"^(?:model name|cpu model|Model)\s*:\s*(.+)$", info, re.MULTILINE)
    return None if found is None else found[1].strip()


def read(path: Path) -> str:
    """A small file of the kernel; empty if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
