"""A publisher of the asyncio face."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from giusto import _core
from giusto.client import operation
from giusto.client.entity import Announcement, AnyPublisher
from giusto.contract import Duration, duration_ns
from giusto.errors import Closed, QueueFull, TimedOut

if TYPE_CHECKING:
    from giusto.client.aio.driver import Driver

AWAY = "the connection is lost and not yet restored"


class Publisher(AnyPublisher, _core.AsyncPublisher):
    """A topic that this client publishes on; `await publish(…)` waits only for credit and room to send."""

    def __new__(cls, bus: Driver, made_from: Announcement) -> Self:
        """Make the native part."""
        return _core.AsyncPublisher.__new__(cls, bus._native, **made_from.native())

    def __init__(self, bus: Driver, made_from: Announcement) -> None:
        self._bus = bus
        self._is_over = False
        self._describe(made_from)

    async def publish_many(
        self,
        payloads: Iterable[Any],
        *,
        priority: int = 0,
        attributes: Mapping[str, Any] | None = None,
        timeout: Duration | None = None,
    ) -> None:
        """Publish many payloads with few system calls. `timeout` is for each wait."""
        left = list(payloads)
        sent = 0
        while sent < len(left):
            count = self.try_publish_many(left, sent, priority=priority, attributes=attributes)
            if count == 0:
                await self._wait_turn(timeout)
            sent += count

    async def _publish_later(self, payload: Any, *, timeout: Duration | None, **rest: Any) -> None:
        """What the native `publish` returns when there is no credit, or no room."""
        while not self.try_publish(payload, **rest):
            await self._wait_turn(timeout)

    async def _wait_turn(self, timeout: Duration | None) -> None:
        """Wait until the broker takes more of this topic, and the connection more bytes."""
        timeout_ns = None if timeout is None else duration_ns(timeout, "timeout")
        if timeout_ns == 0:
            if self.flow is None:
                raise Closed(AWAY)
            raise QueueFull(self.flow, self.offer.queue)
        what = "publish: no credit from the broker" if self.credit <= 0 else "publish: no room to send"
        try:
            await self._bus._wait(self._is_waiting_over, what, timeout_ns)
        except TimedOut:
            if self.flow is None:
                raise Closed(AWAY) from None
            raise

    def _is_waiting_over(self) -> bool:
        return self._is_over or (self.credit > 0 and self._bus._has_room())

    def _close(self) -> None:
        """End the publisher: whoever waits to publish gets `Closed`."""
        self._is_over = True
        super()._close()
        self._bus._changed()

    async def unadvertise(self) -> None:
        """Stop publishing on the topic."""
        await self._bus._run(operation.unadvertise(self._bus._ledger, self))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.unadvertise()
