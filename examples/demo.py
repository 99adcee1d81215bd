"""Contracts, live: what is promised is kept while a neighbour sends as fast as it can.

A broker and three clients run as processes of their own. A monitor and a pump publish under contract and get
their messages back; a third contract is refused, because nobody could keep it, and gets the nearest one. Then
a camera breaks its offer and floods the broker for some seconds, on a second topic without any offer at all
([Tempo] Fig. 11 and 12, with today's rates). In the end every promise stands beside the worst that was seen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import log10
from typing import TypeAlias

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import giusto
from giusto.protocol import TopicStatus

CALM_S, FLOOD_S = 3.0, 4.0
SLICE_S = 0.25
BARS = " ▁▂▃▄▅▆▇█"
LENGTH_S = 2 * CALM_S + FLOOD_S
SLICES = round(LENGTH_S / SLICE_S)
CAMERA_HZ = 1_000
# How much too early a message may come: when the machine stands still, the broker does not read for so long.
TOLERANCE = "50ms"
Slice: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Role:
    """What a client publishes, and the latency that it needs."""

    topic: str
    rate_hz: int
    need: giusto.Need


ROLES = {
    "monitor": Role("ward/3/alarm", 500, giusto.Need(max_latency="20ms")),
    "pump": Role("ward/3/infusion", 100, giusto.Need(max_latency="50ms")),
    "camera": Role("ward/3/video", CAMERA_HZ, giusto.Need()),
}


# --- a client: publishes, receives, says every quarter of a second what it saw


def client(name: str, address: str, start_ns: int) -> None:
    """One process: a publisher thread and a subscriber, reporting in JSON lines, until its input ends."""
    role = ROLES[name]
    with giusto.connect(address, name=name) as bus:
        publisher = bus.advertise(role.topic, giusto.Offer(rate=f"{role.rate_hz}/s", max_size=128))
        subscription = bus.subscribe(role.topic, role.need)
        print(json.dumps(str(subscription.verdict)), flush=True)
        send = (
            camera(bus, publisher, start_ns) if name == "camera" else on_schedule(publisher, role, start_ns)
        )
        threading.Thread(target=lambda: all(send), daemon=True).start()
        for number in range(SLICES):
            print(json.dumps(observe(subscription, start_ns, number)), flush=True)
        sys.stdin.read()


def on_schedule(publisher: giusto.Publisher, role: Role, start_ns: int) -> Iterator[bool]:
    """As offered, to the end."""
    for number in range(round(LENGTH_S * role.rate_hz)):
        due_ns = start_ns + number * 1_000_000_000 // role.rate_hz
        time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        publisher.publish(bytes(128), intended_ns=due_ns)
        yield True


def camera(bus: giusto.Bus, publisher: giusto.Publisher, start_ns: int) -> Iterator[bool]:
    """As offered, but for a while as fast as it can, also on a topic that it never offered anything for."""
    bulk = bus.advertise("ward/3/backup")
    flood_ns = range(start_ns + round(CALM_S * 1e9), start_ns + round((CALM_S + FLOOD_S) * 1e9))
    due_ns = start_ns
    while due_ns < start_ns + round(LENGTH_S * 1e9):
        now_ns = time.monotonic_ns()
        if now_ns in flood_ns:
            publisher.publish_many([bytes(128)] * 50)
            bulk.publish_many([bytes(128)] * 50)
            due_ns = now_ns
        else:
            time.sleep(max(0, due_ns - now_ns) / 1e9)
            publisher.publish(bytes(128), intended_ns=due_ns)
            due_ns += 1_000_000_000 // CAMERA_HZ
        yield True


def observe(subscription: giusto.Subscription, start_ns: int, number: int) -> Slice:
    """What arrives in one slice of time: how many, how late, how many are missing."""
    end_ns = start_ns + round((number + 1) * SLICE_S * 1e9)
    latencies: list[int] = []
    lost_before = subscription.report.lost
    while (left_ns := end_ns - time.monotonic_ns()) > 0:
        batch = subscription.receive_many(timeout=left_ns / 1e9)
        latencies += [message.latency_ns for message in batch]
    latencies.sort()
    at = lambda share: latencies[int(share * (len(latencies) - 1))] / 1e6 if latencies else 0.0  # noqa: E731
    return {
        "count": len(latencies),
        "p50": at(0.5),
        "p95": at(0.95),
        "max": at(1.0),
        "lost": subscription.report.lost - lost_before,
    }


# --- the show


class Client:
    """A client's process, what it was told, and what it has seen so far."""

    def __init__(self, name: str, address: str, start_ns: int, stack: ExitStack) -> None:
        self.name = name
        self.slices: list[Slice] = []
        child = stack.enter_context(process(__file__, name, address, str(start_ns)))
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
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            before_ns = time.monotonic_ns()
            time.sleep(0.001)
            self.worst_ms = max(self.worst_ms, (time.monotonic_ns() - before_ns) / 1e6 - 1)


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A child that is gone when we are."""
    environment = os.environ | {"GIUSTO_GUARANTEE_TOLERANCE": TOLERANCE}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, *command], env=environment, **pipes)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def phase(number: int) -> str:
    """What the camera does in a slice of time."""
    return "flood" if CALM_S <= number * SLICE_S < CALM_S + FLOOD_S else "calm"


def chart(clients: list[Client]) -> Group:
    """One line of bars for each client: its p95, on a logarithmic scale from 10 µs to 100 ms."""
    lines = [
        Text(f"p95 of each {SLICE_S} s, from 10 µs (▁) to 100 ms (█); red while the camera floods", "dim")
    ]
    for one in clients:
        bars = Text(f"{one.name:>8}  ", style="bold")
        for number, found in enumerate(one.slices):
            height = 8 if not found["p95"] else 1 + round(7 * (2 + log10(max(found["p95"], 0.01))) / 4)
            bars.append(BARS[max(1, min(height, 8))], style="red" if phase(number) == "flood" else "green")
        if one.slices:
            last = one.slices[-1]
            bars.append(f"  {last['p95']:.2f} ms, {last['count'] / SLICE_S:,.0f}/s", style="dim")
        lines.append(bars)
    return Group(*lines)


def ask_too_much(console: Console, address: str) -> None:
    """A contract that cannot be kept is refused, and the nearest one is granted."""
    with giusto.connect(address, name="impatient") as bus:
        try:
            bus.subscribe("ward/3/alarm", giusto.Need(max_latency="100us"))
        except giusto.Refused as refused:
            console.print(f"[bold]impatient[/] wants 100 µs. [red]Refused[/]: {refused}")
            nearest = refused.nearest or giusto.Nearest()
            need = giusto.Need(max_latency=f"{nearest.max_latency_ns}ns")
            console.print(f"[bold]impatient[/] takes that. {bus.subscribe('ward/3/alarm', need).verdict}\n")


@dataclass(frozen=True)
class Kept:
    """A topic at the end, in milliseconds; `inside_ms` is the longest that a message was in the broker."""

    promise_ms: float | None
    bound_ms: float | None
    inside_ms: float
    policed: int


def account(address: str) -> dict[str, Kept]:
    """Every topic, as the broker sees it."""
    with giusto.connect(address) as bus:
        return {topic.topic: kept(topic, bus.explain(topic.topic)) for topic in bus.status().topics}


def kept(topic: TopicStatus, why: giusto.Explanation) -> Kept:
    promise_ms = min((each.promise_ns / 1e6 for each in why.promises), default=None)
    bound_ms = max((flow.bound_ns / 1e6 for flow in why.flows), default=None)
    return Kept(promise_ms, bound_ms, topic.delay_max_ns / 1e6, topic.counters["policed"])


def summary(clients: list[Client], account: dict[str, Kept]) -> Table:
    """Each promise beside the worst that was seen."""
    table = Table(title="What was promised, and what was seen, in ms", title_justify="left")
    for column in ("contract", "promise", "bound", "worst in\nbroker", "p50\ncalm", "p50\nflood",
                   "worst", "lost"):  # fmt: skip
        table.add_column(column, justify="left" if column == "contract" else "right")
    for one in clients:
        found = account[ROLES[one.name].topic]
        p50 = [sorted(each["p50"] for each in one.during(name)) for name in ("calm", "flood")]
        figures = [
            *("–" if term is None else f"{term:.2f}" for term in (found.promise_ms, found.bound_ms)),
            f"{found.inside_ms:.2f}",
            *(f"{each[len(each) // 2]:.2f}" if each else "–" for each in p50),
            f"{one.worst_ms:.2f}",
            f"{one.lost:,}",
        ]
        table.add_row(one.name, *figures, style="" if one.name == "camera" else "bold")
    return table


def judge(console: Console, clients: list[Client], account: dict[str, Kept], witness: Witness) -> int:
    """Say what became of the promises; 0 if none of them was broken by the broker."""
    held = [(one, account[ROLES[one.name].topic]) for one in clients if one.name != "camera"]
    policed = account[ROLES["camera"].topic].policed
    lost = sum(one.lost for one, _ in held)
    console.print(
        f"The broker turned away [bold]{policed:,}[/] messages beyond the camera's offer of {CAMERA_HZ:,}/s; "
        f"the topics under contract lost [bold]{lost:,}[/]."
    )
    late = [(one, one.worst_ms - (found.bound_ms or 0)) for one, found in held]
    for one, over_ms in late:
        if over_ms > 0:
            console.print(
                f"{one.name}: a message was {over_ms:.1f} ms above its bound. The machine itself stood still "
                f"for up to {witness.worst_ms:.1f} ms meanwhile, which no bound contains."
            )
    ours = any(over_ms > 2 * witness.worst_ms + 5 for _, over_ms in late)
    return 0 if lost == 0 and policed > 0 and not ours else 1


def main() -> int:
    console = Console()
    console.print("\n[bold]giusto[/]: a broker, two clients under contract, and one that will flood it.\n")
    with ExitStack() as stack:
        broker = stack.enter_context(process("-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0"))
        address = (broker.stdout or iter("")).readline().split()[-1]
        start_ns = time.monotonic_ns() + 3_000_000_000
        clients = [Client(name, address, start_ns, stack) for name in ROLES]
        for one in clients:
            console.print(f"[bold]{one.name}[/] on {ROLES[one.name].topic}. {one.verdict}")
        ask_too_much(console, address)
        witness = Witness()
        with Live(chart(clients), console=console, refresh_per_second=8) as live:
            for one in clients:
                one.follow()
            end_ns = start_ns + (LENGTH_S + 2) * 1e9
            while time.monotonic_ns() < end_ns and any(len(one.slices) < SLICES for one in clients):
                time.sleep(SLICE_S / 2)
                live.update(chart(clients))
        found = account(address)
    console.print()
    console.print(summary(clients, found))
    return judge(console, clients, found, witness)


if __name__ == "__main__":
    if sys.argv[1:]:
        client(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        raise SystemExit(main())
