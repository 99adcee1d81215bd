"""A subscription of the asyncio face."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Self

from giusto import _core
from giusto.client import operation
from giusto.client.aio.waiter import Waiters
from giusto.client.entity import AnySubscription, Interest
from giusto.contract import Duration, duration_ns
from giusto.errors import Closed, TimedOut

if TYPE_CHECKING:
    from giusto.client.aio.driver import Driver

BATCH = 256
"""Messages taken at once: few enough to stay in the processor's cache."""
BATCHES = 4
"""Full batches before other tasks have a turn."""


class Subscription(AnySubscription, _core.Inbox):
    """A pattern that this client is subscribed to; `async for` gives its messages.

    Messages are taken from the native inbox in batches, which is what makes `async for` quick. All who
    receive take from the same batch, `_ready`, so each message goes to one of them, and what a loop that was
    left early has not used goes to whoever receives next.
    """

    def __new__(cls, bus: Driver, made_from: Interest) -> Self:
        """Make the native part: messages may come as soon as the broker is asked."""
        return _core.Inbox.__new__(cls, bus._native, **made_from.native())

    def __init__(self, bus: Driver, made_from: Interest) -> None:
        self._bus = bus
        self._ready: Iterator[_core.Message] = iter([])
        self._waiters = Waiters()
        self._is_over = False
        self._describe(made_from, bus._native.now)
        self._announce()

    async def receive(self, timeout: Duration | None = None) -> _core.Message:
        """The next message. Raises `TimedOut` if none comes in time."""
        while True:
            message = next(self._ready, None) or self._take()
            if message is not None:
                return message
            await self._wait_message(timeout)

    async def receive_many(self, most: int = 1024, timeout: Duration | None = None) -> list[_core.Message]:
        """Up to `most` messages: waits for the first and takes what else is there; none in time: []."""
        if most > 0 and not self.available():
            try:
                await self._wait_message(timeout)
            except TimedOut:
                return []
        ready = list(islice(self._ready, most))
        return ready + self._take_many(most - len(ready))

    def available(self) -> int:
        """How many messages can be received without waiting."""
        return length_hint(self._ready) + super().available()

    def purge(self) -> int:
        """Throw away what waits; how many messages that were."""
        return len(list(self._ready)) + super().purge()

    async def __aiter__(self) -> AsyncIterator[_core.Message]:
        full = 0
        while True:
            ready = self._ready
            for message in ready:
                yield message
            if ready is not self._ready:
                continue  # Another task has taken the next batch.
            batch = self._take_many(BATCH)
            self._ready = iter(batch)
            if len(batch) == BATCH:
                full += 1
                if full % BATCHES == 0:
                    await asyncio.sleep(0)
            elif not batch:
                if self._is_over:
                    return
                try:
                    await self._wait_message(None)
                except Closed:
                    if self._is_over or self._bus._is_closed:
                        return
                    raise

    async def _wait_message(self, timeout: Duration | None) -> None:
        timeout_ns = None if timeout is None else duration_ns(timeout, "timeout")
        if self._is_over:
            raise Closed("the subscription was ended by unsubscribe(), or the broker did not restore it")
        await self._bus._wait(self._is_waiting_over, "receive", timeout_ns, self._waiters)

    def _is_waiting_over(self) -> bool:
        return self._is_over or super().available() > 0

    async def unsubscribe(self) -> None:
        """End the subscription; iterations over it end."""
        await self._bus._run(operation.unsubscribe(self._bus._ledger, self))

    def _close(self) -> None:
        """End the inbox: what waits in it is gone, and so is who waits for more."""
        self._is_over = True
        super()._close()
        self.purge()
        self._waiters.wake()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.unsubscribe()
