"""How the processes of a soak talk to each other: JSON lines, orders in and reports out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Queue
from typing import Any

from benchmarks.run import ROOT

Said = dict[str, Any]
# Far beyond any machine's stall: who says nothing for so long is not going to.
WATCHDOG_S = 60.0


class Child:
    """A process of a soak, as its parent sees it: told with `tell`, heard with `hear`."""

    def __init__(self, module: str, **told: Any) -> None:
        self.name = told.get("name", module)
        self._heard: Queue[Said | None] = Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.soak.{module}", json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def process(self) -> int:
        return self._process.pid

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            self._heard.put(json.loads(line))
        self._heard.put(None)

    def tell(self, **order: Any) -> None:
        """An order; a child that has gone does not hear it."""
        with suppress(BrokenPipeError):
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()

    def hear(self, watchdog_s: float = WATCHDOG_S) -> Said:
        """The next report; a child that has failed or says nothing is an error."""
        try:
            said = self._heard.get(timeout=watchdog_s)
        except Empty:
            raise RuntimeError(f"{self.name} says nothing") from None
        if said is None or "failed" in said:
            raise RuntimeError(f"{self.name} failed: {said['failed'] if said else 'it ended'}")
        return said

    def hear_all(self) -> list[Said]:
        """What it has said and nobody has heard."""
        said = []
        while not self._heard.empty():
            one = self._heard.get()
            if one is not None:
                said.append(one)
        return said

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def say(**report: Any) -> None:
    """A report to the parent."""
    print(json.dumps(report), flush=True)


def order() -> Said:
    """The next order of the parent; the end of the program if there is no parent any more."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return dict(json.loads(line))


def play(part: Callable[[Said], None]) -> None:
    """Runs a child's part with what its parent told it; what goes wrong is told to the parent."""
    try:
        part(json.loads(sys.argv[1]))
    except Exception as error:
        say(failed=f"{type(error).__name__}: {error}")
        raise SystemExit(1) from error


def hurry(priority: int) -> bool:
    """Run under SCHED_FIFO, before all that is not under contract; False if the machine does not allow it."""
    if priority == 0:
        return False
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (OSError, AttributeError):
        return False
    return True
