"""What is seen while it runs: processes, what they say, and a chart of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from math import log10
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text
from ward import LENGTH_S, ROLES, SLICE_S, SLICES, Slice, phase

import giusto

BARS = " ▁▂▃▄▅▆▇█"
# How much too early a message may come: when the machine stands still, the broker does not read for so long.
TOLERANCE_MS = 50
PERIOD_NS = 5_000_000


class Client:
    """A client's process, what it was told, and what it has seen so far."""

    def __init__(self, name: str, address: str, start_ns: int, stack: ExitStack) -> None:
        self.name, self.start_ns = name, start_ns
        self.role = ROLES[name]
        self.slices: list[Slice] = []
        program = str(Path(__file__).with_name("ward.py"))
        child = stack.enter_context(process(program, name, address, str(start_ns)))
        self.process = child.pid
        self._lines = child.stdout or iter("")
        self.verdict: str = json.loads(next(iter(self._lines)))

    def follow(self) -> None:
        """Collect what it says, in the background."""
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        self.slices.extend(json.loads(line) for line in self._lines)

    def during(self, name: str) -> list[Slice]:
        """The slices of a phase."""
        return [found for number, found in enumerate(self.slices) if phase(number) == name and found["count"]]

    @property
    def lost(self) -> int:
        """Messages that did not come."""
        return int(sum(found["lost"] for found in self.slices))

    @property
    def worst_ms(self) -> float:
        """The latest message of all."""
        return max(found["max"] for found in self.slices)


@dataclass(frozen=True)
class Stall:
    """The machine stood still for `ns` in all, at some time between two instants."""

    since_ns: int
    until_ns: int
    ns: int


class Witness:
    """Sees when the machine stood still, and for how long: for itself, or for a thread of the others.

    It does nothing but sleep: how late it wakes up is one thing. How long a thread was ready to run and did
    not is the other; Linux says that. A message waits for the broker, the first of `processes`, and for one
    of the others, whose clients get their own messages back.
    """

    def __init__(self, processes: Sequence[int]) -> None:
        self.stalls: list[Stall] = []
        self._processes = processes
        self._is_watching = True
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        """What comes now is no excuse for what was."""
        self._is_watching = False

    def stood_ms(self, since_ns: float, until_ns: float) -> float:
        """For how long it stood still between two instants, all stalls together; no longer than that was."""
        met = (one for one in self.stalls if one.since_ns < until_ns and since_ns < one.until_ns)
        return min(until_ns - since_ns, sum(one.ns for one in met)) / 1e6

    def _watch(self) -> None:
        waited_ns = [run_delays_ns(process) for process in self._processes]
        while self._is_watching:
            before_ns = time.monotonic_ns()
            time.sleep(PERIOD_NS / 1e9)
            late_ns = time.monotonic_ns() - before_ns - PERIOD_NS
            now_ns = [run_delays_ns(process) for process in self._processes]
            broker_ns, *others_ns = map(longest_ns, waited_ns, now_ns)
            stood_ns = max(late_ns, broker_ns + max(others_ns, default=0))
            # A wait is told when it is over: it may have begun long before this period.
            self.stalls.append(Stall(before_ns - stood_ns, time.monotonic_ns(), stood_ns))
            waited_ns = now_ns


def longest_ns(before: dict[Path, int], now: dict[Path, int]) -> int:
    """How much longer a thread of a process has waited by now, at most."""
    return max((delay - before.get(thread, delay) for thread, delay in now.items()), default=0)


def run_delays_ns(process: int) -> dict[Path, int]:
    """How long each thread has been ready and not running; nothing where the system does not say."""
    found = {}
    for path in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError, IndexError):  # it may just have ended
            found[path] = int(path.read_text("ascii").split()[1])
    return found


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A child that is gone when we are."""
    environment = os.environ | {"GIUSTO_GUARANTEE_TOLERANCE": f"{TOLERANCE_MS}ms"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, *command], env=environment, **pipes)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def watch(console: Console, clients: Sequence[Client], address: str, start_ns: int) -> None:
    """Show what the clients see until they are done, and how much is turned away meanwhile."""
    with giusto.connect(address) as bus, Live(console=console, refresh_per_second=8) as live:
        for one in clients:
            one.follow()
        end_ns = start_ns + (LENGTH_S + 2) * 1e9
        while time.monotonic_ns() < end_ns and any(len(one.slices) < SLICES for one in clients):
            time.sleep(SLICE_S / 2)
            live.update(chart(clients, turned_away(bus)))


def turned_away(bus: giusto.Bus) -> dict[str, int]:
    """Messages beyond their publishers' offers so far, by topic."""
    return {topic.topic: topic.counters["policed"] for topic in bus.status().topics}


def chart(clients: Sequence[Client], policed: dict[str, int]) -> Group:
    """One line of bars for each client: its p95, on a logarithmic scale from 10 µs to 100 ms."""
    words = f"p95 of each {SLICE_S} s, from 10 µs (▁) to 100 ms (█); red while the camera floods"
    return Group(Text(words, "dim"), *(bars(one, policed.get(one.role.topic, 0)) for one in clients))


def bars(one: Client, policed: int) -> Text:
    """The line of one client."""
    line = Text(f"{one.name:>8}  ", style="bold")
    for number, found in enumerate(one.slices):
        height = 8 if not found["p95"] else 1 + round(7 * (2 + log10(max(found["p95"], 0.01))) / 4)
        line.append(BARS[max(1, min(height, 8))], style="red" if phase(number) == "flood" else "green")
    if one.slices:
        last = one.slices[-1]
        line.append(f"  {last['p95']:.2f} ms, {last['count'] / SLICE_S:,.0f}/s", style="dim")
    if policed:
        line.append(f", {policed:,} turned away", style="red")
    return line
