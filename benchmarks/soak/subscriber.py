"""A subscriber of a soak: one contract, and how late every message of an honest publisher was."""

from __future__ import annotations

import gc
import time
from contextlib import suppress

from benchmarks.soak.child import Said, hurry, order, play, say

import giusto
from giusto.cli.histogram import Histogram

# The first contract asks for so little that it is granted, the next for as much as was found possible.
LOOSE_S = 10.0
# A promise that is only a little tighter is not worth another subscription.
WORTH_IT = 0.98
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
    """Asks for tighter contracts as long as it is told to, then counts until `end_ns`."""
    with giusto.connect(told["address"], name=told["name"]) as bus:
        subscription = bus.subscribe(told["topic"], giusto.Need(max_latency=LOOSE_S))
        say(ready=True)
        while "tightness" in (begun := order()):
            tighter = tightened(bus, subscription, begun["tightness"])
            say(changed=tighter is not None)
            subscription = tighter or subscription
        granted = contract(bus, subscription)
        say(**granted)
        hurry(told["priority"])
        gc.disable()
        watch = Watch(granted["bound_ns"], frozenset(told["deaf_to"]))
        count(subscription, watch, begun["end_ns"] + GRACE_NS)
        middle, high = watch.latencies.percentiles((50.0, 99.0)).values()
        figures = {"p50_ns": middle, "p99_ns": high, "max_ns": watch.latencies.most}
        say(done=True, messages=watch.latencies.total, misses=watch.misses, **figures)
        order()


def tightened(bus: giusto.Bus, before: giusto.Subscription, tightness: float) -> giusto.Subscription | None:
    """A contract of which the bound is this part, in the place of a looser one; None if there is none."""
    assert isinstance(before.verdict, giusto.Granted)
    bound_ns = max(flow.bound_ns for flow in bus.explain(before.pattern).flows)
    wanted_ns = round(bound_ns / tightness)
    if wanted_ns >= before.verdict.promise_ns * WORTH_IT:
        return None
    try:
        after = bus.subscribe(before.pattern, giusto.Need(max_latency=wanted_ns / 1e9))
    except giusto.Refused:
        # Under edf a tighter promise moves the topic forward: others may be in the way.
        return None
    before.unsubscribe()
    return after


def contract(bus: giusto.Bus, subscription: giusto.Subscription) -> Said:
    """The promise, the bound with all that is admitted by now, and which part of that is the broker's own."""
    assert isinstance(subscription.verdict, giusto.Granted)
    explained = bus.explain(subscription.pattern)
    worst = max(explained.flows, key=lambda flow: flow.bound_ns)
    return {
        "promise_ns": subscription.verdict.promise_ns,
        "bound_ns": worst.bound_ns,
        "broker_bound_ns": worst.bound_ns - sum(part.ns for part in worst.parts if "link" in part.name),
        "basis": explained.basis,
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
