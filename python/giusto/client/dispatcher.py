"""The one thread of a blocking bus that has callbacks: it waits for their messages and calls them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from giusto.client.face import failed
from giusto.client.report import Periods, Report
from giusto.errors import Closed

if TYPE_CHECKING:
    from giusto.client.driver import Driver

BATCH = 256
"""Messages of one subscription before others have a turn."""


class Dispatcher(threading.Thread):
    """Runs until the bus is closed."""

    def __init__(self, bus: Driver) -> None:
        super().__init__(name=f"giusto-{bus.name}", daemon=True)
        self._bus = weakref.ref(bus)
        self._native = bus._native
        self._reports: list[Periodic] = []

    def report(self, callback: Callable[[list[Report]], object], every_ns: int) -> None:
        """Call `callback` with the reports of all subscriptions from time to time."""
        self._reports.append(Periodic(callback, Periods(every_ns, self._native.now)))
        self._native.notify()

    def run(self) -> None:
        """Wait, call, and again."""
        is_over = False
        while not is_over:
            try:
                is_over = not self._turn()
            except Closed:
                # Whoever waits on the bus was told why.
                return
            except BaseException as error:
                # One callback more or less: the others are still to be called.
                failed(error)

    def _turn(self) -> bool:
        due_ns = min((one.periods.next_ns for one in self._reports), default=None)
        wait_ns = 1_000_000_000 if due_ns is None else max(0, due_ns - self._native.now)
        announced = self._native.wait_announced(min(wait_ns, 1_000_000_000))
        bus = self._bus()
        if bus is None:
            return False
        for key in announced:
            dispatch(bus, key)
        for periodic in self._reports:
            periodic.call_if_due(bus)
        return True


class Periodic:
    """A callback with the reports of each period."""

    def __init__(self, callback: Callable[[list[Report]], object], periods: Periods) -> None:
        self.callback = callback
        self.periods = periods

    def call_if_due(self, bus: Driver) -> None:
        """Call, if the period is over."""
        now_ns = bus._native.now
        if now_ns < self.periods.next_ns:
            return
        self.periods.pass_by(now_ns)
        try:
            self.callback(bus.recent_reports())
        except Exception as error:
            failed(error)


def dispatch(bus: Driver, key: int) -> None:
    """Call back with what waits in an inbox; it is announced again if that is much."""
    subscription = bus._ledger.subscriptions.get(key)
    if subscription is None or subscription.callback is None:
        return
    is_done = False
    try:
        is_done = subscription._drain_into(subscription.callback, failed, BATCH) < BATCH
    finally:
        if not is_done:
            subscription._announce()
