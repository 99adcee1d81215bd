"""A subscriber of a soak: one contract, and how late every message of an honest publisher was."""

from __future__ import annotations

import gc
import time
from contextlib import suppress

from benchmarks.soak.child import Said, hurry, order, play, say

import giusto
from giusto.cli.histogram import Histogram

# The first contract asks for so little that it is granted; the second for as much as was found possible.
LOOSE_S = 10.0
GRACE_NS = 500_000_000
MISSES_KEPT = 10_000
EVERY_NS = 1_000_000_000


class Watch:
    """The latencies of one subscription, and the lives of messages beyond the bound."""

    def __init__(self, bound_ns: int, deaf_to: frozenset[str]) -> None:
        self.bound_ns, self.deaf_to = bound_ns, deaf_to
        self.latencies = Histogram()
        self.misses: list[tuple[int, int]] = []

    def take(self, batch: list[giusto.Message]) -> None:
        honest = [(one.sent_ns, one.received_ns) for one in batch if one.source not in self.deaf_to]
        self.latencies.record([received_ns - sent_ns for sent_ns, received_ns in honest])
        late = [life for life in honest if life[1] - life[0] > self.bound_ns]
        self.misses += late[: MISSES_KEPT - len(self.misses)]


def subscribe(told: Said) -> None:
    """Asks twice for a contract, then counts until `end_ns`."""
    with giusto.connect(told["address"], name=told["name"]) as bus:
        topic = told["topic"]
        loose = bus.subscribe(topic, giusto.Need(max_latency=LOOSE_S))
        say(ready=True)
        tightness = order()["tightness"]
        bound_ns = max(flow.bound_ns for flow in bus.explain(topic).flows)
        wanted_ns = round(bound_ns / tightness)
        subscription = bus.subscribe(topic, giusto.Need(max_latency=wanted_ns / 1e9))
        loose.unsubscribe()
        say(ready=True)
        begun = order()
        verdict = subscription.verdict
        assert isinstance(verdict, giusto.Granted)
        say(**contract(verdict))
        hurry(told["priority"])
        gc.disable()
        watch = Watch(verdict.bound_ns, frozenset(told["deaf_to"]))
        count(subscription, watch, begun["end_ns"] + GRACE_NS)
        middle, high = watch.latencies.percentiles((50.0, 99.0)).values()
        figures = {"p50_ns": middle, "p99_ns": high, "max_ns": watch.latencies.most}
        say(done=True, messages=watch.latencies.total, misses=watch.misses, **figures)
        order()


def contract(verdict: giusto.Granted) -> Said:
    """The verdict, and which part of the bound is the broker's own."""
    links_ns = sum(part.ns for part in verdict.parts if "link" in part.name)
    return {
        "promise_ns": verdict.promise_ns,
        "bound_ns": verdict.bound_ns,
        "broker_bound_ns": verdict.bound_ns - links_ns,
        "basis": verdict.basis,
    }


def count(subscription: giusto.Subscription, watch: Watch, end_ns: int) -> None:
    """Receives until `end_ns`; says every second how it goes."""
    said_ns = time.monotonic_ns()
    while (now_ns := time.monotonic_ns()) < end_ns:
        with suppress(giusto.TimedOut):
            watch.take(subscription.receive_many(timeout=min(end_ns - now_ns, EVERY_NS) / 1e9))
        if now_ns - said_ns > EVERY_NS:
            said_ns = now_ns
            most_ns, misses = watch.latencies.most, len(watch.misses)
            say(messages=watch.latencies.total, max_ns=most_ns, misses=misses, bound_ns=watch.bound_ns)


if __name__ == "__main__":
    play(subscribe)
