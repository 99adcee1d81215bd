"""The events of a blocking bus, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from giusto.client.events import Event
from giusto.contract import Duration, duration_ns
from giusto.errors import Closed, TimedOut

if TYPE_CHECKING:
    from giusto.client.bus import Bus


class Events:
    """The events of a bus. Iterating waits for the next one and ends when the bus is closed."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def receive(self, timeout: Duration | None = None) -> Event:
        """The next event. Raises `TimedOut` if none comes in time."""
        native = self._bus._native
        timeout_ns = None if timeout is None else duration_ns(timeout, "timeout")
        deadline_ns = None if timeout_ns is None else native.now + timeout_ns
        while True:
            seen = native.notified
            if native.wants_attention:
                self._bus._attend()
                continue
            event = self._bus._events.take()
            if event is not None:
                return event
            self._bus._check_open()
            left_ns = None if deadline_ns is None else max(0, deadline_ns - native.now)
            if not native.wait(seen, left_ns):
                raise TimedOut("event", timeout_ns)

    def available(self) -> int:
        """How many events wait."""
        return len(self._bus._events)

    @property
    def missed(self) -> int:
        """Events that were dropped because nobody took them."""
        return self._bus._events.missed

    def __iter__(self) -> Iterator[Event]:
        while True:
            try:
                yield self.receive()
            except (Closed, TimedOut):
                # Without a time only a bus in memory gives up: nothing is under way.
                return
