"""The side of `giusto bench` that receives: takes all there is, and calculates only afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from array import array
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING

from giusto.cli.bench.plan import Plan, Received, Sent
from giusto.cli.histogram import Histogram
from giusto.errors import GiustoError

if TYPE_CHECKING:
    from giusto._core import Message
    from giusto.client import Subscription

MOST = 65_536
QUEUE = 4_000_000
LOOK_SECONDS = 0.2
# After the publisher has ended, messages that come later than this are lost.
GRACE_NS = 2_000_000_000
CHUNK = 65_536


def measure(plan: Plan) -> tuple[Sent, Received]:
    """Receive what another process publishes by the plan."""
    from giusto.client import connect

    with connect(plan.address) as bus:
        subscription = bus.subscribe(plan.topic, queue=QUEUE)
        command = [sys.executable, "-m", "giusto.cli.bench.publisher", plan.text()]
        publisher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            return receive(plan, subscription, publisher)
        finally:
            publisher.kill()
            publisher.wait()


def receive(
    plan: Plan, subscription: Subscription, publisher: subprocess.Popen[str]
) -> tuple[Sent, Received]:
    """Take messages until all that were sent are here, or no more come."""
    taken = Taken(plan.stride)
    sent: Sent | None = None
    quiet_since_ns = time.monotonic_ns()
    while sent is None or taken.count < sent.count:
        batch = subscription.receive_many(MOST, timeout=LOOK_SECONDS)
        now_ns = time.monotonic_ns()
        if batch:
            taken.add(batch)
            quiet_since_ns = now_ns
        elif sent is not None and now_ns - quiet_since_ns > GRACE_NS:
            break
        if sent is None and publisher.poll() is not None:
            sent = outcome(publisher)
    return sent, taken.received(sent.first_ns + plan.warm_up_ns)


def outcome(publisher: subprocess.Popen[str]) -> Sent:
    """What the publisher said at its end; it has told on stderr what went wrong."""
    text = publisher.stdout.read() if publisher.stdout is not None else ""
    with suppress(ValueError):
        return Sent(**json.loads(text))
    raise GiustoError("the publisher of the measurement failed")


class Taken:
    """Times of the messages so far, as bare numbers."""

    def __init__(self, stride: int) -> None:
        self.stride = stride
        self.count = 0
        self.first_ns = 0
        self.last_ns = 0
        self.due = array("q")
        self.intended = array("q")
        self.sent = array("q")

    def add(self, batch: list[Message]) -> None:
        """Note every message, or one of each `stride`."""
        if not self.count:
            self.first_ns = batch[0].received_ns
        self.last_ns = batch[-1].received_ns
        self.count += len(batch)
        looked_at = batch if self.stride == 1 else batch[:: self.stride]
        self.due.extend([message.intended_ns for message in looked_at])
        self.intended.extend([message.received_ns - message.intended_ns for message in looked_at])
        self.sent.extend([message.latency_ns for message in looked_at])

    def received(self, counted_ns: int) -> Received:
        """The distributions of what was due from `counted_ns` on."""
        # Messages come in the order in which they were due.
        counted = slice(bisect_left(self.due, counted_ns), None)
        intended, sent = distribution(self.intended[counted]), distribution(self.sent[counted])
        return Received(intended, sent, self.count, self.first_ns, self.last_ns)


def distribution(values: array[int]) -> Histogram:
    """How the values are distributed; in pieces, since lists of numbers are large."""
    made = Histogram()
    for start in range(0, len(values), CHUNK):
        made.record(values[start : start + CHUNK].tolist())
    return made
