"""The events of an asyncio bus, one after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from giusto.client.events import Event
from giusto.contract import Duration, duration_ns
from giusto.errors import Closed

if TYPE_CHECKING:
    from giusto.client.aio.bus import Bus


class Events:
    """The events of a bus. `async for` waits for the next one and ends when the bus is closed."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def receive(self, timeout: Duration | None = None) -> Event:
        """The next event. Raises `TimedOut` if none comes in time."""
        timeout_ns = None if timeout is None else duration_ns(timeout, "timeout")
        while (event := self._bus._events.take()) is None:
            await self._bus._wait(lambda: len(self._bus._events) > 0, "event", timeout_ns)
        return event

    def available(self) -> int:
        """How many events wait."""
        return len(self._bus._events)

    @property
    def missed(self) -> int:
        """Events that were dropped because nobody took them."""
        return self._bus._events.missed

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            try:
                yield await self.receive()
            except Closed:
                return
