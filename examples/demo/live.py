"""What is seen while it runs: processes, what they say, and a chart of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
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


class Client:
    """A client's process, what it was told, and what it has seen so far."""

    def __init__(self, name: str, address: str, start_ns: int, stack: ExitStack) -> None:
        self.name = name
        self.role = ROLES[name]
        self.slices: list[Slice] = []
        program = str(Path(__file__).with_name("ward.py"))
        child = stack.enter_context(process(program, name, address, str(start_ns)))
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


class Witness:
    """A thread that does nothing but sleep: how late it wakes up is how long the machine stood still."""

    def __init__(self) -> None:
        self.worst_ms = 0.0
        self._is_watching = True
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        """What comes now is no excuse for what was."""
        self._is_watching = False

    def _watch(self) -> None:
        while self._is_watching:
            before_ns = time.monotonic_ns()
            time.sleep(0.001)
            self.worst_ms = max(self.worst_ms, (time.monotonic_ns() - before_ns) / 1e6 - 1)


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
