"""A publisher of a soak: keeps its offers to the nanosecond, or breaks one as often as it can."""

from __future__ import annotations

import gc
import heapq
import time
from typing import Any

from benchmarks.soak.child import Said, hurry, order, play, say

import giusto
from giusto import _core

# A burst of the one that breaks its offer, and the pause after it.
JUNK, PAUSE_S = 50, 0.005


class Plan:
    """One flow: when the next messages are due, and a bucket like the broker's to keep the offer."""

    def __init__(self, bus: giusto.Bus, told: dict[str, Any]) -> None:
        self.period_ns, self.burst = told["period_ns"], told["burst"]
        self.payload = bytes(told["size_bytes"])
        offer = giusto.Offer(
            min_sep=told["period_ns"] / 1e9,
            burst=told["burst"],
            max_size=told["size_bytes"],
            jitter=told["jitter_ns"] / 1e9,
        )
        self.bucket = _core.Policer(
            min_sep_ns=offer.min_sep_ns, burst=told["burst"], jitter_ns=told["jitter_ns"]
        )
        self.violations = self.sent = self.skipped = 0
        self.publisher = bus.advertise(told["topic"], offer, on_violation=self._violated)

    def _violated(self, violation: object) -> None:
        self.violations += 1

    def send(self) -> None:
        """As many messages as are due at once, but none that would break the offer: it was late itself."""
        for _ in range(self.burst):
            if self.bucket.conforms(time.monotonic_ns()):
                self.publisher.publish(self.payload)
                self.sent += 1
            else:
                self.skipped += 1


def publish(told: Said) -> None:
    """Sends on schedule from `start_ns` to `end_ns`."""
    with giusto.connect(told["address"], name=told["name"]) as bus:
        plans = [Plan(bus, flow) for flow in told["flows"]]
        say(ready=True)
        begun = order()
        hurry(told["priority"])
        gc.disable()
        if told["breaks"]:
            break_offers(plans, begun["start_ns"], begun["end_ns"])
        else:
            keep_offers(plans, begun["start_ns"], begun["end_ns"])
        say(
            **{name: sum(getattr(plan, name) for plan in plans) for name in ("sent", "skipped", "violations")}
        )
        order()


def keep_offers(plans: list[Plan], start_ns: int, end_ns: int) -> None:
    """Each flow in its own period; the phases drift against each other as the periods do."""
    due = [(start_ns, number) for number, _ in enumerate(plans)]
    while due[0][0] < end_ns:
        due_ns, number = due[0]
        time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        plan = plans[number]
        plan.send()
        heapq.heapreplace(due, (due_ns + plan.burst * plan.period_ns, number))


def break_offers(plans: list[Plan], start_ns: int, end_ns: int) -> None:
    """Many more messages than were offered."""
    time.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
    while time.monotonic_ns() < end_ns:
        for plan in plans:
            plan.publisher.publish_many([plan.payload] * JUNK)
            plan.sent += JUNK
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    play(publish)
