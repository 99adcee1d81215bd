"""Retained topics: everything that a pattern covers is appended to its log, in the order in which it comes.

The keeper is a subscriber like any other. What its queue at the broker or its inbox does not take is lost to
the log, counted and said; nothing that is published waits for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from giusto import _core
from giusto.client import Bus, Subscription
from giusto.errors import Closed, TimedOut
from giusto.retain import columns
from giusto.retain.log import Log

QUEUE = 1 << 18
TAKE = 1_024
BLOCK_ROWS = 8_192
BLOCK_BYTES = 512 * 1_024
LINGER_NS = 20_000_000
"""A block waits this long for more rows: blocks of one row would take ten times the room and time."""
PAUSE = "50ms"

_log = logging.getLogger("giusto.steward")


class Gathering:
    """Messages that become the next block; `now_ns` is of the monotonic clock."""

    def __init__(self) -> None:
        self.messages: list[_core.Message] = []
        self._bytes = 0
        self._since_ns = 0

    def add(self, messages: Sequence[_core.Message], now_ns: int) -> None:
        """Take what came."""
        if not self.messages:
            self._since_ns = now_ns
        self.messages += messages
        self._bytes += sum(len(one.payload) for one in messages)

    def is_due(self, now_ns: int) -> bool:
        """Whether it has to be written now."""
        is_large = len(self.messages) >= BLOCK_ROWS or self._bytes >= BLOCK_BYTES
        return bool(self.messages) and (is_large or now_ns - self._since_ns >= LINGER_NS)

    def take(self) -> list[_core.Message]:
        """All of it; the next block begins."""
        taken, self.messages, self._bytes = self.messages, [], 0
        return taken


class Keeper:
    """Keeps the messages of one log's pattern, in a thread of its own."""

    def __init__(self, log: Log, *, sync_ns: int) -> None:
        self.log = log
        self.name = "keeper"
        self._sync_ns = sync_ns
        self._synced_ns = 0
        self._lost_told = 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"giusto-keeper {log.pattern}", daemon=True)
        self._subscription: Subscription | None = None

    @property
    def remarks(self) -> list[str]:
        """What it keeps."""
        log = self.log
        return [f"retains {log.pattern} in {log.folder}: {log.head - log.first} messages"]

    @property
    def lost(self) -> dict[str, int]:
        """Messages that were published and are not in the log, by where they were lost."""
        topics = [] if self._subscription is None else self._subscription.report.topics
        found = {
            "on the way": sum(one.lost for one in topics),
            "inbox": sum(one.dropped for one in topics),
            "disk": self.log.losses.disk,
        }
        return {where: count for where, count in found.items() if count}

    def begin(self, bus: Bus) -> None:
        """Subscribe; from now on everything is kept."""
        self._subscription = bus.subscribe(self.log.pattern, queue=QUEUE)
        self._thread.start()

    def tend(self) -> None:
        """Trim, write to disk, and say what was lost."""
        self.log.trim(time.time_ns())
        if time.monotonic_ns() - self._synced_ns >= self._sync_ns:
            self._synced_ns = time.monotonic_ns()
            self.log.sync()
        lost = sum(self.lost.values())
        if lost > self._lost_told:
            _log.warning("%s: %d messages are not in the log: %s", self.log.pattern, lost, self.lost)
            self._lost_told = lost

    def end(self) -> None:
        """Append what came and close the log."""
        self._ending.set()
        self._thread.join()
        self.log.close()

    def _run(self) -> None:
        assert self._subscription is not None
        gathering = Gathering()
        while not self._ending.is_set():
            gathering.add(self._received(self._subscription, waiting=not gathering.messages), _now_ns())
            if gathering.is_due(_now_ns()):
                self._append(gathering.take())
        gathering.add(self._subscription._take_many(QUEUE), _now_ns())
        self._append(gathering.take())

    def _received(self, subscription: Subscription, *, waiting: bool) -> list[_core.Message]:
        """What is there, or comes soon; nothing if the connection is lost, as it is being restored."""
        try:
            return subscription.receive_many(TAKE, PAUSE if waiting else f"{LINGER_NS}ns")
        except TimedOut:
            return []
        except Closed:
            self._ending.wait(0.05)
            return []

    def _append(self, messages: list[_core.Message]) -> None:
        for start in range(0, len(messages), BLOCK_ROWS):
            rows = columns.rows_of(messages[start : start + BLOCK_ROWS])
            self.log.append(rows, time.time_ns(), time.time_ns() - _now_ns())
        if messages:
            self.log.trim(time.time_ns())


def _now_ns() -> int:
    return time.monotonic_ns()
