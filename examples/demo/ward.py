"""Who is on the ward: what each client publishes and needs, and what its process does.

A client is a process of its own. It publishes, gets its messages back, and says every quarter of a second,
in a line of JSON, what it saw.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import giusto

CALM_S, FLOOD_S = 3.0, 4.0
SLICE_S = 0.25
LENGTH_S = 2 * CALM_S + FLOOD_S
SLICES = round(LENGTH_S / SLICE_S)
FLOODER = "camera"
Slice: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Role:
    """What a client publishes, and what it needs of that."""

    topic: str
    rate_hz: int
    size_bytes: int
    need: giusto.Need

    @property
    def promised(self) -> bool:
        """Whether it asks for a promise."""
        return self.need.max_latency_ns is not None


ROLES = {
    "alarms": Role("ward/3/alarm", 500, 128, giusto.Need(max_latency="20ms")),
    "vitals": Role("ward/3/vitals", 200, 256, giusto.Need(max_latency="50ms")),
    "images": Role("ward/3/image", 20, 65_536, giusto.Need(deadline="200ms", price=5, penalty=1)),
    FLOODER: Role("ward/3/video", 1_000, 128, giusto.Need()),
}


def client(name: str, address: str, start_ns: int) -> None:
    """One process: a publisher thread and a subscriber, until its input ends."""
    role = ROLES[name]
    with giusto.connect(address, name=name) as bus:
        offer = giusto.Offer(rate=f"{role.rate_hz}/s", max_size=role.size_bytes)
        publisher = bus.advertise(role.topic, offer)
        subscription = bus.subscribe(role.topic, role.need)
        print(json.dumps(str(subscription.verdict)), flush=True)
        flow = flooding(bus, publisher, role, start_ns) if name == FLOODER else None
        plan = flow or offered(publisher, role, start_ns)
        threading.Thread(target=lambda: all(plan), daemon=True).start()
        for number in range(SLICES):
            print(json.dumps(observe(subscription, start_ns, number)), flush=True)
        sys.stdin.read()


def offered(publisher: giusto.Publisher, role: Role, start_ns: int) -> Iterator[bool]:
    """As offered, to the end."""
    for number in range(round(LENGTH_S * role.rate_hz)):
        due_ns = start_ns + number * 1_000_000_000 // role.rate_hz
        time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        publisher.publish(bytes(role.size_bytes), intended_ns=due_ns)
        yield True


def flooding(bus: giusto.Bus, publisher: giusto.Publisher, role: Role, start_ns: int) -> Iterator[bool]:
    """As offered, but for a while as fast as it can, also on a topic that it never offered anything for."""
    backup = bus.advertise("ward/3/backup")
    flood_ns = range(start_ns + round(CALM_S * 1e9), start_ns + round((CALM_S + FLOOD_S) * 1e9))
    due_ns = start_ns
    while due_ns < start_ns + round(LENGTH_S * 1e9):
        now_ns = time.monotonic_ns()
        if now_ns in flood_ns:
            for flow in (publisher, backup):
                flow.publish_many([bytes(role.size_bytes)] * 50)
            due_ns = now_ns
        else:
            time.sleep(max(0, due_ns - now_ns) / 1e9)
            publisher.publish(bytes(role.size_bytes), intended_ns=due_ns)
            due_ns += 1_000_000_000 // role.rate_hz
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


def phase(number: int) -> str:
    """What the flooder does in a slice of time."""
    return "flood" if CALM_S <= number * SLICE_S < CALM_S + FLOOD_S else "calm"


if __name__ == "__main__":
    client(sys.argv[1], sys.argv[2], int(sys.argv[3]))
