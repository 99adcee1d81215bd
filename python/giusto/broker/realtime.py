"""What the data thread asks of the operating system for steady time, and what it gets.

Nothing here stops a broker: what is refused is said, with what to do about it, and the broker serves without.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from giusto.config import Realtime

PRIORITY_HINT = "allow it with `ulimit -r`, LimitRTPRIO= in systemd, or CAP_SYS_NICE"
MEMORY_HINT = "allow it with `ulimit -l unlimited`, LimitMEMLOCK= in systemd, or CAP_IPC_LOCK"
CPUS_HINT = "name processors that this process may use: see `taskset -p $$`"


class Thread(Protocol):
    """What can be asked for a data thread."""

    @property
    def thread_id(self) -> int: ...
    def lock_memory(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing that was asked: what it was, and why it was refused, if it was."""

    asked: str
    refused: str | None = None

    def __str__(self) -> str:
        return f"{self.asked}: granted" if self.refused is None else f"{self.asked}: refused, {self.refused}"


def apply(realtime: Realtime, thread: Thread) -> list[Outcome]:
    """Ask for all that the configuration wants."""
    outcomes = []
    if realtime.priority:
        asked = f"SCHED_FIFO priority {realtime.priority}"
        outcomes.append(_ask(asked, PRIORITY_HINT, lambda: _set_priority(thread, realtime.priority)))
    if realtime.cpus:
        asked = f"processors {', '.join(map(str, realtime.cpus))}"
        outcomes.append(_ask(asked, CPUS_HINT, lambda: _set_cpus(thread, realtime.cpus)))
    if realtime.lock_memory:
        outcomes.append(_ask("locked memory", MEMORY_HINT, thread.lock_memory))
    if realtime.busy_poll:
        outcomes.append(Outcome("busy polling"))
    return outcomes


def _ask(asked: str, hint: str, call: Callable[[], None]) -> Outcome:
    try:
        call()
    except (OSError, ValueError, AttributeError) as error:
        # AttributeError: a system without these calls.
        return Outcome(asked, f"{getattr(error, 'strerror', None) or error}; {hint}")
    return Outcome(asked)


def _set_cpus(thread: Thread, cpus: tuple[int, ...]) -> None:
    os.sched_setaffinity(thread.thread_id, cpus)
    # The system passes over processors that are not there.
    got = os.sched_getaffinity(thread.thread_id)
    if got != set(cpus):
        raise ValueError(f"the thread got {', '.join(map(str, sorted(got)))} alone")


def _set_priority(thread: Thread, priority: int) -> None:
    os.sched_setscheduler(thread.thread_id, os.SCHED_FIFO, os.sched_param(priority))
