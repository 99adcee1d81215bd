"""Those who make it hard: a flooder without a limit, its audience, and a subscriber that never reads."""

from __future__ import annotations

import time

from benchmarks.soak.child import Said, order, play, say

import giusto

FLOOD = "soak-flood"
BATCH = 100


def flood(bus: giusto.Bus, told: Said) -> None:
    """Sends as fast as the broker takes it."""
    publisher = bus.advertise(FLOOD, giusto.Offer(max_size=told["size_bytes"]))
    say(ready=True)
    begun = order()
    batch, sent = [bytes(told["size_bytes"])] * BATCH, 0
    while time.monotonic_ns() < begun["end_ns"]:
        publisher.publish_many(batch)
        sent += BATCH
    say(done=True, sent=sent)


def listen(bus: giusto.Bus, told: Said) -> None:
    """Receives the flood."""
    subscription = bus.subscribe(FLOOD)
    say(ready=True)
    begun = order()
    received = 0
    while (left_ns := begun["end_ns"] - time.monotonic_ns()) > 0:
        try:
            received += len(subscription.receive_many(timeout=left_ns / 1e9))
        except giusto.TimedOut:
            break
    say(done=True, received=received)


def stall(bus: giusto.Bus, told: Said) -> None:
    """Subscribes to all that a contract covers, and reads nothing of it."""
    subscriptions = [bus.subscribe(topic) for topic in told["topics"]]
    say(ready=True)
    order()
    say(done=True, subscriptions=len(subscriptions))


PARTS = {"flood": flood, "listen": listen, "stall": stall}


def annoy(told: Said) -> None:
    with giusto.connect(told["address"], name=told["name"]) as bus:
        PARTS[told["part"]](bus, told)
        order()


if __name__ == "__main__":
    play(annoy)
