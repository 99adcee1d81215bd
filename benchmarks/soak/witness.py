"""When the machine stood still: a process on one CPU wakes up every millisecond, and notes when it does not.

It also reads how long the kernel has let the threads of the bus wait for a processor (`schedstat`).
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from benchmarks.soak.child import Said, hurry, order, play, say

PERIOD_NS = 1_000_000
# A wake-up that is later than this is a stall; less is what a timer costs.
LATE_NS = 150_000
# What the kernel says is exact; only dust is left out.
DUST_NS = 50_000
PRIORITY = 90
# What concerns everybody.
MACHINE = "machine"
DATA_THREAD = "giusto-data"


class RunDelay:
    """How long one thread of `name` has been ready and not running."""

    def __init__(self, name: str, process: int, thread: int) -> None:
        self.name = name
        self._fd = os.open(f"/proc/{process}/task/{thread}/schedstat", os.O_RDONLY)
        self.ns = self._read()

    def _read(self) -> int:
        return int(os.pread(self._fd, 100, 0).split()[1])

    def more_ns(self) -> int:
        """By how much it has grown since the last call; 0 for a thread that has ended."""
        with suppress(OSError, IndexError):
            before, self.ns = self.ns, self._read()
            return self.ns - before
        return 0


def threads(processes: Mapping[str, int]) -> list[RunDelay]:
    """The threads that messages pass through: of a broker the data thread alone."""
    found = []
    for name, process in processes.items():
        with suppress(OSError):
            tasks = list(Path(f"/proc/{process}/task").iterdir())
            data = [task for task in tasks if (task / "comm").read_text().strip() == DATA_THREAD]
            found += [RunDelay(name, process, int(task.name)) for task in data or tasks]
    return found


def watch(told: Said) -> None:
    """Says which stalls it saw, once a second, until its parent has gone or `end_ns` has come."""
    os.sched_setaffinity(0, {told["cpu"]})
    hurried = hurry(PRIORITY)
    say(ready=True, hurried=hurried)
    begun = order()
    watched = threads(begun["processes"])
    gc.disable()
    stalls: list[tuple[str, int, int, int]] = []
    last_ns = said_ns = due_ns = time.monotonic_ns()
    while due_ns < begun["end_ns"]:
        due_ns = max(due_ns + PERIOD_NS, time.monotonic_ns() + PERIOD_NS // 2)
        time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        now_ns = time.monotonic_ns()
        if now_ns - due_ns > LATE_NS:
            stalls.append((MACHINE, due_ns, now_ns, now_ns - due_ns))
        for delay in watched:
            waited_ns = delay.more_ns()
            if waited_ns > DUST_NS:
                stalls.append((delay.name, last_ns - waited_ns, now_ns, waited_ns))
        last_ns = now_ns
        if now_ns - said_ns > 1_000_000_000:
            say(stalls=stalls)
            stalls, said_ns = [], now_ns
    say(stalls=stalls, done=True)


if __name__ == "__main__":
    play(watch)
