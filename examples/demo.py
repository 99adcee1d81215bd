"""Isolation, live: a topic keeps its delay while its neighbour sends as fast as it can.

A broker and two clients run as processes of their own. Each client publishes 1,000 messages a second on its
topic and receives them back. For some seconds the second one breaks its offer and floods the broker; then it
behaves again ([Tempo] Fig. 11 and 12, with today's rates).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import log10
from statistics import median
from typing import TypeAlias

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import giusto

CALM_S, FLOOD_S = 3.0, 4.0
SLICE_S = 0.25
RATE_HZ = 1_000
BARS = " ▁▂▃▄▅▆▇█"
CLIENTS = {"steady": "ward/3/alarm", "flooder": "ward/3/video"}
LENGTH_S = 2 * CALM_S + FLOOD_S
SLICES = round(LENGTH_S / SLICE_S)
# The burst forgives a machine that stands still for half a second.
OFFER = giusto.Offer(rate=f"{RATE_HZ}/s", burst=RATE_HZ // 2, max_size=128)
Slice: TypeAlias = dict[str, float]


# --- a client: publishes, receives, says every quarter of a second what it saw


def client(role: str, address: str, start_ns: int) -> None:
    """One process: a publisher thread and a subscriber, reporting in JSON lines."""
    with giusto.connect(address, name=role) as bus:
        publisher = bus.advertise(CLIENTS[role], OFFER)
        subscription = bus.subscribe(CLIENTS[role])
        thread = threading.Thread(target=publish, args=(publisher, role == "flooder", start_ns))
        thread.start()
        for number in range(SLICES):
            print(json.dumps(observe(subscription, start_ns, number)), flush=True)
        thread.join()


def publish(publisher: giusto.Publisher, floods: bool, start_ns: int) -> None:
    """Sends on schedule, and for a while as fast as it can."""
    flood_ns = range(start_ns + round(CALM_S * 1e9), start_ns + round((CALM_S + FLOOD_S) * 1e9))
    due_ns, end_ns = start_ns, start_ns + round(LENGTH_S * 1e9)
    while due_ns < end_ns:
        now_ns = time.monotonic_ns()
        if floods and now_ns in flood_ns:
            publisher.publish_many([bytes(128)] * 100)
            due_ns = now_ns
            continue
        time.sleep(max(0, due_ns - now_ns) / 1e9)
        publisher.publish(bytes(128), intended_ns=due_ns)
        due_ns += 1_000_000_000 // RATE_HZ


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
        "rate": len(latencies) / SLICE_S,
        "p50": at(0.5),
        "p95": at(0.95),
        "max": at(1.0),
        "lost": subscription.report.lost - lost_before,
    }


# --- the show


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A child that is gone when we are."""
    child = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def follow(child: subprocess.Popen[str], slices: list[Slice]) -> None:
    """Collects what a client says, in the background."""
    lines = child.stdout or []
    threading.Thread(target=lambda: [slices.append(json.loads(line)) for line in lines], daemon=True).start()


def chart(seen: dict[str, list[Slice]]) -> Group:
    """One line of bars for each client: its p95, on a logarithmic scale from 10 µs to 100 ms."""
    lines = [Text(f"p95 of each {SLICE_S} s, from 10 µs (▁) to 100 ms (█)", style="dim")]
    for role, slices in seen.items():
        bars = Text(f"{role:>8}  ", style="bold")
        for number, found in enumerate(slices):
            height = 8 if not found["p95"] else 1 + round(7 * (2 + log10(max(found["p95"], 0.01))) / 4)
            bars.append(BARS[max(1, min(height, 8))], style="red" if phase(number) == "flood" else "green")
        if slices:
            bars.append(f"  {slices[-1]['p95']:.2f} ms, {slices[-1]['rate']:,.0f}/s", style="dim")
        lines.append(bars)
    return Group(*lines)


def phase(number: int) -> str:
    """What the flooder does in a slice of time; the first and last of each phase belong to none."""
    at_s = number * SLICE_S
    edges = (0.0, CALM_S, CALM_S + FLOOD_S)
    if any(edge <= at_s < edge + SLICE_S for edge in edges):
        return "edge"
    return "flood" if CALM_S <= at_s < CALM_S + FLOOD_S else "calm"


def summary(seen: dict[str, list[Slice]]) -> Table:
    """Each client without and with the flood."""
    table = Table(title="Median over slices of time", title_justify="left")
    for column in ("client", "phase", "received/s", "p50, ms", "p95, ms", "lost"):
        table.add_column(column, justify="left" if column in ("client", "phase") else "right")
    for role, slices in seen.items():
        for name in ("calm", "flood"):
            found = [entry for number, entry in enumerate(slices) if phase(number) == name]
            middle = {key: median(entry[key] for entry in found) for key in ("rate", "p50", "p95")}
            lost = sum(entry["lost"] for entry in found)
            figures = (
                f"{middle['rate']:,.0f}",
                f"{middle['p50']:.3f}",
                f"{middle['p95']:.3f}",
                f"{lost:,.0f}",
            )
            table.add_row(role, name, *figures, style="bold" if role == "steady" else "")
    return table


def main() -> int:
    console = Console()
    console.print("\n[bold]giusto[/]: a broker and two clients. One of them will flood it in a moment.\n")
    with process("-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0") as broker:
        address = (broker.stdout or iter("")).readline().split()[-1]
        start_ns = time.monotonic_ns() + 1_500_000_000
        seen: dict[str, list[Slice]] = {role: [] for role in CLIENTS}
        with ExitStack() as stack, Live(chart(seen), console=console, refresh_per_second=8) as live:
            for role, slices in seen.items():
                follow(stack.enter_context(process(__file__, role, address, str(start_ns))), slices)
            while time.monotonic_ns() < start_ns + LENGTH_S * 1e9 + 1e9 and len(seen["flooder"]) < SLICES:
                time.sleep(SLICE_S / 2)
                live.update(chart(seen))
            with giusto.connect(address) as bus:
                counters = {topic.topic: topic.counters for topic in bus.status().topics}
    policed = counters[CLIENTS["flooder"]]["policed"]
    lost = sum(found["lost"] for found in seen["steady"])
    console.print()
    console.print(summary(seen))
    console.print(
        f"The broker turned away [bold]{policed:,}[/] messages that broke the flooder's offer of "
        f"{RATE_HZ:,}/s; the steady topic lost [bold]{lost:,.0f}[/]."
    )
    return 0 if lost == 0 and policed > 0 else 1


if __name__ == "__main__":
    if sys.argv[1:]:
        client(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        raise SystemExit(main())
