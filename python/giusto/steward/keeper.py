"""Retained topics: everything that a pattern covers is appended to its log, in the order in which it comes.

The keeper is a subscriber like any other. What its queue at the broker or its inbox does not take is lost to
the log, counted and said; nothing that is published waits for it. One thread reads and one writes, so that
the broker's queue is emptied also while rows are made and written.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from giusto import _core
from giusto.client import Bus, Subscription
from giusto.errors import Closed, TimedOut
from giusto.retain import columns
from giusto.retain.log import Log
from giusto.steward.causes import causes, dropped_by
from giusto.steward.handover import Handover, size_of

INBOX = 1 << 16
TAKE = 8_192
TAKE_BYTES = 8 * 1024 * 1024
"""Read at once, about: as many messages as those before them let expect."""
BLOCK_ROWS = 8_192
BLOCK_BYTES = 400_000
LINGER_NS = 20_000_000
"""A block waits this long for more rows: blocks of one row would take ten times the room and time."""
PAUSE = "50ms"
DRAIN_NS = 1_000_000_000
"""For as long it goes on at the end, if messages keep coming."""
ASK_TIMES = 3

_log = logging.getLogger("giusto.steward")


class Gathering:
    """Messages that become the next blocks; `now_ns` is of the monotonic clock."""

    def __init__(self) -> None:
        self.messages: list[_core.Message] = []
        self._since_ns = self._bytes = 0

    def add(self, messages: Sequence[_core.Message], now_ns: int) -> None:
        """Take what came."""
        if not self.messages:
            self._since_ns, self._bytes = now_ns, 0
        self.messages += messages
        self._bytes += sum(map(size_of, messages))

    def is_due(self, now_ns: int) -> bool:
        """Whether it has to be written now."""
        is_much = len(self.messages) >= TAKE or self._bytes >= TAKE_BYTES
        return bool(self.messages) and (is_much or not self.rest_ns(now_ns))

    def rest_ns(self, now_ns: int) -> int:
        """For how long it can wait for more."""
        return max(0, self._since_ns + LINGER_NS - now_ns)

    def take(self) -> list[_core.Message]:
        """All of it; the next block begins."""
        taken, self.messages = self.messages, []
        return taken


class Keeper:
    """Keeps the messages of one log's pattern, in a thread of its own."""

    def __init__(self, log: Log, *, sync_ns: int) -> None:
        self.log = log
        self.name = "keeper"
        self._sync_ns = sync_ns
        self._synced_ns = 0
        self._lost_told = 0
        self._causes: dict[str, int] = {}
        self._asked_for = self._asked = 0
        self._ending = threading.Event()
        self._came = Handover()
        self._take_count = TAKE
        self._unwritten = 0
        self._trouble = ""
        self._threads = [
            threading.Thread(target=target, name=f"giusto-keeper {log.pattern}", daemon=True)
            for target in (self._read, self._write)
        ]
        self._bus: Bus | None = None
        self._subscription: Subscription | None = None

    @property
    def remarks(self) -> list[str]:
        """What it keeps."""
        log = self.log
        return [f"retains {log.pattern} in {log.folder}: {log.head - log.first} messages"]

    @property
    def lost(self) -> dict[str, int]:
        """Messages that were published and are not in the log, by reason or by where they were lost."""
        report = None if self._subscription is None else self._subscription.report
        found = {
            **self._causes,
            "on the way": 0 if report is None else max(0, report.lost - sum(self._causes.values())),
            "inbox": 0 if report is None else report.dropped,
            "disk": self.log.losses.disk,
            "rows": self._unwritten,
        }
        return {where: count for where, count in found.items() if count}

    def begin(self, bus: Bus) -> None:
        """Subscribe; from now on everything is kept."""
        # Arrow takes a while to load: not while messages wait.
        columns.kept()
        self._bus = bus
        self._subscription = bus.subscribe(self.log.pattern, queue=INBOX)
        for thread in self._threads:
            thread.start()

    def tend(self) -> None:
        """Trim, write to disk, and say what was lost."""
        self.log.trim(time.time_ns())
        if time.monotonic_ns() - self._synced_ns >= self._sync_ns:
            self._synced_ns = time.monotonic_ns()
            self.log.sync()
        self._explain()
        lost = sum(self.lost.values())
        if lost > self._lost_told:
            _log.warning("%s: %d messages are not in the log: %s", self.log.pattern, lost, self.lost)
            self._lost_told = lost

    def _explain(self) -> None:
        """Ask the broker what it dropped, some times for each loss: it may be counted a moment later.

        What it said of topics that are gone since still counts.
        """
        if self._bus is None or self._subscription is None or "on the way" not in self.lost:
            return
        gaps = self._subscription.report.lost
        self._asked = self._asked + 1 if gaps == self._asked_for else 1
        self._asked_for = gaps
        if self._asked > ASK_TIMES:
            return
        with suppress(Closed, TimedOut):
            found = causes(gaps, dropped_by(self._bus.status(), self._bus.name, self.log.pattern))
            if sum(found.values()) > sum(self._causes.values()):
                self._causes = found

    def end(self) -> None:
        """Append what came and close the log."""
        self._ending.set()
        for thread in self._threads:
            thread.join()
        self.log.close()

    def _read(self) -> None:
        """Take what comes until the end, and then what is under way."""
        assert self._subscription is not None
        while not self._ending.is_set():
            self._take(self._subscription)
        last_ns = _now_ns() + DRAIN_NS
        while self._take(self._subscription) and _now_ns() < last_ns:
            pass
        self._came.put(self._subscription._take_many(INBOX))
        self._came.end()

    def _take(self, subscription: Subscription) -> bool:
        """Hand over what comes soon; whether something did."""
        try:
            messages = subscription.receive_many(self._take_count, PAUSE)
            mean_bytes = self._came.put(messages) // max(1, len(messages))
            self._take_count = max(1, min(TAKE, TAKE_BYTES // max(1, mean_bytes)))
            return True
        except TimedOut:
            return False
        except Closed:
            # It is being restored.
            self._ending.wait(0.05)
            return False

    def _write(self) -> None:
        gathering = Gathering()
        is_over = False
        while not is_over:
            came = self._next(gathering)
            is_over = came is None
            gathering.add(came or [], _now_ns())
            if is_over or gathering.is_due(_now_ns()):
                self._append(gathering.take())

    def _next(self, gathering: Gathering) -> Sequence[_core.Message] | None:
        """What came, waiting for it no longer than what was gathered can wait."""
        return self._came.get(gathering.rest_ns(_now_ns()) / 1e9 if gathering.messages else None)

    def _append(self, messages: list[_core.Message]) -> None:
        """Write; whatever goes wrong, what comes next is written too."""
        for several in blocks(messages):
            try:
                self.log.append(columns.rows_of(several), time.time_ns(), time.time_ns() - _now_ns())
            except Exception as error:
                self._unwritten += len(several)
                self._say(error)
        try:
            if messages:
                self.log.trim(time.time_ns())
        except Exception as error:
            # The next time is soon.
            self._say(error)

    def _say(self, error: Exception) -> None:
        """Say it once, as it may happen with every message."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            _log.error("%s: %s", self.log.pattern, error)


def blocks(messages: Sequence[_core.Message]) -> Iterator[Sequence[_core.Message]]:
    """Messages in portions that make one block each: so large that few of them fit into one answer."""
    start = size = 0
    for at, one in enumerate(messages):
        size += size_of(one)
        if size >= BLOCK_BYTES or at + 1 - start >= BLOCK_ROWS:
            yield messages[start : at + 1]
            start, size = at + 1, 0
    if start < len(messages):
        yield messages[start:]


def _now_ns() -> int:
    return time.monotonic_ns()
