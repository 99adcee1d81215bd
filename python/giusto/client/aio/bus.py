"""The asyncio face: the names and arguments of the blocking one, with `await`, `async with` and `async for`.

The loop watches the socket; there is no reader thread. A bus belongs to the loop it was made in.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping
from types import TracebackType
from typing import Any, Self

from giusto import _core
from giusto.client import exchange
from giusto.client.aio.driver import CLOSED
from giusto.client.aio.primitives import Primitives
from giusto.client.aio.publisher import Publisher
from giusto.client.aio.stream import Events
from giusto.client.aio.subscription import Subscription
from giusto.client.face import LEAVE_NS, TraceFolder, broker_address
from giusto.client.report import Periods, Report
from giusto.contract import Duration, Need, Offer, duration_ns
from giusto.errors import Closed, Refused, TimedOut


class Bus(Primitives):
    """A connection to a broker. Made by `connect`; leaving its `async with` block closes it."""

    def __init__(
        self,
        address: str,
        *,
        name: str | None,
        timeout: Duration,
        reconnect: bool,
        trace: TraceFolder = None,
    ) -> None:
        super().__init__(address, name, timeout, reconnect, trace)
        self._replies: Subscription | None = None
        self._second: Bus | None = None
        self._asking = asyncio.Lock()

    # --- request and reply

    async def request(
        self,
        topic: str,
        payload: bytes,
        *,
        timeout: Duration = 5.0,
        attributes: Mapping[str, Any] | None = None,
        offer: Offer | None = None,
    ) -> _core.Message:
        """Publish a request and wait for its reply. Raises `RequestFailed` with what the handler raised.

        Requests are offered without a limit, unless there is an `offer` or the topic is advertised already.
        """
        timeout_ns = duration_ns(timeout, "timeout")
        if offer is None and self._has_limits and topic not in self._ledger.publishers:
            second = await self._beside()
            return await second.request(topic, payload, timeout=timeout, attributes=attributes)
        async with self._asking:
            asked = self._exchanges()
            if self._replies is None:
                self._replies = await self.subscribe(asked.topic, callback=asked.settle)
            publisher = await self._requester(topic, offer)
        number, carried = asked.ask()
        try:
            await publisher.publish(payload, attributes={**(attributes or {}), **carried}, timeout=timeout)
            while (reply := asked.take(number)) is None:
                nobody = "" if publisher.matched else " (nobody subscribes to it)"
                await self._wait(lambda: asked.is_settled(number), f"request on {topic}{nobody}", timeout_ns)
            return reply
        finally:
            asked.forget(number)

    async def _requester(self, topic: str, offer: Offer | None) -> Publisher:
        publisher = self._ledger.publishers.get(topic)
        if publisher is None:
            publisher = await self.advertise(topic, offer)
            if offer is None:
                self._requesters[topic] = publisher
        assert isinstance(publisher, Publisher)
        return publisher

    async def serve(
        self,
        topic: str,
        handler: Callable[[_core.Message], bytes | Awaitable[bytes | None] | None],
        need: Need | None = None,
        *,
        offer: Offer | None = None,
    ) -> Subscription:
        """Answer the requests on a topic with what `handler` returns, or with what it raises.

        `offer` is for the replies to each requester; they have no limit without one.
        """

        async def answer(message: _core.Message) -> None:
            asked = exchange.question(message)
            if asked is None:
                return
            reply_topic, attributes = asked
            try:
                result = handler(message)
                payload = exchange.answer(await result if inspect.isawaitable(result) else result)
                replier = await self._replier(reply_topic, offer)
                await replier.publish(payload, attributes=attributes, timeout="5s")
            except Exception as error:
                await self._apologise(reply_topic, offer, attributes, error)

        return await self.subscribe(topic, need, callback=answer)

    async def _apologise(
        self, topic: str, offer: Offer | None, attributes: dict[str, Any], error: Exception
    ) -> None:
        """Answer a request with what was raised; also if it was that the reply cannot be published."""
        try:
            replier = await self._replier(topic, offer)
            payload, more = exchange.refusal(error, replier.offer)
            await replier.publish(payload, attributes=attributes | more, timeout="5s")
        except Refused:
            payload, more = exchange.refusal(error, exchange.APOLOGY)
            # Where nothing else is without a limit.
            bus = self if self._has_limits else await self._beside()
            publisher = await bus.advertise(topic, exchange.APOLOGY)
            try:
                await publisher.publish(payload, attributes=attributes | more, timeout="5s")
            finally:
                await publisher.unadvertise()

    async def _beside(self) -> Bus:
        """The connection for requests and replies if this one publishes something with a limit."""
        async with self._asking:
            if self._is_closed:
                raise Closed(CLOSED)
            if self._second is None or self._second._is_lost:
                name, timeout = self._second_name, f"{self._timeout_ns}ns"
                second = Bus(self.address, name=name, timeout=timeout, reconnect=self._reconnects)
                second._is_second = True
                self._second = await second._start()
            return self._second

    async def _replier(self, topic: str, offer: Offer | None) -> Publisher:
        if offer is None and self._has_limits and topic not in self._repliers:
            return await (await self._beside())._replier(topic, None)
        async with self._asking:
            publisher: Publisher | None = self._repliers.get(topic)
            if publisher is None:
                publisher = self._repliers[topic] = await self.advertise(topic, offer)
            self._repliers.move_to_end(topic)
            if len(self._repliers) > exchange.REPLIERS_MAX:
                _, oldest = self._repliers.popitem(last=False)
                await oldest.unadvertise()
            return publisher

    # --- events and reports

    @property
    def events(self) -> Events:
        """Everything that the bus has to tell, one event after the other."""
        return Events(self)

    async def reports(self, every: Duration = 1) -> AsyncIterator[list[Report]]:
        """How each subscription was served, period by period."""
        periods = Periods(duration_ns(every, "every", least_ns=1), self._native.now)
        while True:
            await asyncio.sleep(max(0, periods.next_ns - self._native.now) / 1e9)
            self._check_open()
            periods.pass_by(self._native.now)
            yield self.recent_reports()

    def on_report(self, callback: Callable[[list[Report]], object], every: Duration = 1) -> None:
        """Call back with the reports of each period; once for a bus."""
        duration_ns(every, "every", least_ns=1)
        self._take_reports()

        async def call() -> None:
            async for reports in self.reports(every):
                self._call(callback, reports)

        self._spawn(call())

    # --- the end

    async def flush(self, timeout: Duration = 5) -> None:
        """Wait until everything that was published has left this process."""
        timeout_ns = duration_ns(timeout, "timeout")
        if not await self._loop.run_in_executor(None, self._native.flush, timeout_ns):
            raise TimedOut("flush", timeout_ns)

    async def close(self) -> None:
        """Send what waits, say goodbye and close. Iterations end; who waits otherwise gets `Closed`."""
        self._is_closed = True
        if self._second is not None:
            await self._second.close()
        if self._restoring is not None:
            self._restoring.cancel()
        self._unwatch()
        self._ended = self._ended or Closed(CLOSED)
        try:
            await self._loop.run_in_executor(None, self._native.end, CLOSED, LEAVE_NS)
            if self._trace_folder is not None:
                await self._loop.run_in_executor(None, self._end_trace)
        finally:
            self._end(CLOSED, 0)
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Connecting:
    """A bus that is being connected: `await` it, or use it in `async with`."""

    def __init__(self, address: str, **arguments: Any) -> None:
        self._address, self._arguments = address, arguments
        self._bus: Bus | None = None

    async def _connect(self) -> Bus:
        self._bus = await Bus(self._address, **self._arguments)._start()
        return self._bus

    def __await__(self) -> Generator[Any, None, Bus]:
        return self._connect().__await__()

    async def __aenter__(self) -> Bus:
        return await self._connect()

    async def __aexit__(self, *_: object) -> None:
        if self._bus is not None:
            await self._bus.close()


def connect(
    address: str | None = None,
    *,
    name: str | None = None,
    timeout: Duration = 5.0,
    reconnect: bool = True,
    trace: TraceFolder = None,
) -> Connecting:
    """Connect to a broker: `async with connect(…) as bus`, or `bus = await connect(…)`.

    The arguments mean what they mean for the blocking face.
    """
    where = broker_address(address)
    return Connecting(where, name=name, timeout=timeout, reconnect=reconnect, trace=trace)
