"""The asyncio face: the names and arguments of the blocking one, with `await`, `async with` and `async for`.

The loop watches the socket; there is no reader thread. A bus belongs to the loop it was made in.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from giusto import _core
from giusto.client import exchange, operation
from giusto.client.aio.publisher import Publisher
from giusto.client.aio.stream import Events
from giusto.client.aio.subscription import BATCH, Subscription
from giusto.client.aio.waiter import Waiters
from giusto.client.entity import announcement, interest
from giusto.client.events import Drop, Matchedness, Miss, Violation
from giusto.client.face import LEAVE_NS, QUEUE, AnyBus, broker_address, failed, not_connected, weak_hook
from giusto.client.operation import Ask, Open, Operation, Pause, Step
from giusto.client.report import Periods, Report
from giusto.contract import Duration, Explanation, Need, Offer, duration_ns
from giusto.errors import Closed, GiustoError, Refused, TimedOut
from giusto.protocol import Party, ShareTerms, StatusIs, ViewsAre

_Result = TypeVar("_Result")
CLOSED = "the bus was closed"


class Bus(AnyBus):
    """A connection to a broker. Made by `connect`; leaving its `async with` block closes it."""

    def __init__(
        self,
        address: str,
        *,
        name: str | None,
        timeout: Duration,
        reconnect: bool,
        trace: str | os.PathLike[str] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        super().__init__(address, name, timeout, reconnect, trace)
        self._native = _core.Connection(
            in_loop=True, attend=weak_hook(self._attend), record_capacity=self._record_capacity
        )
        self._watched: list[int] = []
        self._waiters = Waiters()
        self._is_room_awaited = False
        self._ended: Closed | None = None
        self._is_closed = False
        self._restoring: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._replies: Subscription | None = None
        self._second: Bus | None = None
        self._asking = asyncio.Lock()

    async def _start(self) -> Self:
        try:
            self._connected = await self._run(operation.connect(self._native, self.name, self._is_unnamed))
            self.name = self._connected.name
            if self._trace_folder is not None:
                await self._loop.run_in_executor(None, self._begin_trace)
        except BaseException as error:
            self._end("never connected", 0)
            raise not_connected(error, self) from None
        return self

    # --- the five primitives

    async def advertise(
        self,
        topic: str,
        offer: Offer | None = None,
        *,
        type: Any = None,
        on_violation: Callable[[Violation], object] | None = None,
        on_matched: Callable[[Matchedness], object] | None = None,
        on_drop: Callable[[Drop], object] | None = None,
    ) -> Publisher:
        """Announce that this client publishes on a topic, and what it offers."""
        on = {"on_violation": on_violation, "on_matched": on_matched, "on_drop": on_drop}
        publisher = Publisher(self, announcement(topic, offer, type, on))
        for moved in self._take_unlimited(publisher.offer):
            await moved.unadvertise()
        await self._run(operation.advertise(self._ledger, publisher))
        return publisher

    async def subscribe(
        self,
        pattern: str,
        need: Need | None = None,
        *,
        filter: str | _core.Filter | None = None,
        type: Any = None,
        callback: Callable[[_core.Message], object] | None = None,
        queue: int = QUEUE,
        overflow: str = "drop_oldest",
        on_miss: Callable[[Miss], object] | None = None,
        on_violation: Callable[[Violation], object] | None = None,
        on_matched: Callable[[Matchedness], object] | None = None,
        on_drop: Callable[[Drop], object] | None = None,
    ) -> Subscription:
        """Ask for the messages of all topics that a pattern covers.

        With `callback` the loop calls it with each message, or awaits it, one message after the other.
        """
        on = {
            "on_miss": on_miss,
            "on_violation": on_violation,
            "on_matched": on_matched,
            "on_drop": on_drop,
        }
        subscription = Subscription(self, interest(pattern, need, filter, type, queue, overflow, on))
        if not inspect.iscoroutinefunction(callback):
            subscription.callback = callback
        await self._run(operation.subscribe(self._ledger, subscription))
        if inspect.iscoroutinefunction(callback):
            self._spawn(_consume(subscription, callback))
        return subscription

    # --- questions to the broker

    async def publishers(self, topic: str) -> list[Party]:
        """Who publishes on a topic."""
        return await self._run(operation.publishers(topic))

    async def subscribers(self, topic: str) -> list[Party]:
        """Whose patterns cover a topic."""
        return await self._run(operation.subscribers(topic))

    async def allot(self, topic: str, **share: int) -> None:
        """Give a topic another share: `weight`, or what the broker's policy knows."""
        await self._run(operation.allot(topic, ShareTerms(**share)))

    async def status(self) -> StatusIs:
        """Counters and delays of all topics and clients of the broker."""
        return await self._run(operation.status())

    async def views(self, pattern: str = "#") -> ViewsAre:
        """W, MatrixIN and MatrixOUT: the shares of topics, and which clients publish and receive them."""
        return await self._run(operation.views(pattern))

    async def explain(self, topic: str) -> Explanation:
        """How the bounds of a topic come about, term by term; `print` it."""
        return await self._run(operation.explain(topic))

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

    def _stop(self) -> bool:
        was_open = self._ended is None
        self._ended = self._ended or Closed(CLOSED)
        return was_open

    # --- waiting

    async def _run(self, steps: Operation[_Result]) -> _Result:
        """Drive an operation to its end."""
        self._check_process()
        outcome: object = None
        problem: BaseException | None = None
        while True:
            try:
                step = steps.send(outcome) if problem is None else steps.throw(problem)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            outcome = problem = None
            try:
                outcome = await self._do(step)
            except BaseException as error:
                # Also a cancellation: the operation puts in order what it has begun, and raises it again.
                problem = error

    async def _do(self, step: Step) -> object:
        match step:
            case Open():
                await self._loop.run_in_executor(None, self._native.open, self.address, self._timeout_ns)
                self._watch()
                return None
            case Pause():
                await asyncio.sleep(step.nanoseconds / 1e9)
                return None
        return await self._ask(step)

    async def _ask(self, ask: Ask) -> object:
        while (restoring := self._restoring) not in (None, asyncio.current_task()):
            await asyncio.wait([restoring])
        self._check_open()
        number = self._ledger.next_id()
        self._send(ask, number)
        try:
            while self._ledger.is_expected(number):
                answer = self._ledger.take_answer(number)
                if answer is not None:
                    return answer
                is_there = lambda: self._ledger.is_answered(number)  # noqa: E731
                await self._wait(is_there, "answer of the broker", self._timeout_ns)
            return None
        finally:
            self._forget(number)

    async def _wait(
        self,
        is_done: Callable[[], bool],
        what: str,
        timeout_ns: int | None,
        waiters: Waiters | None = None,
    ) -> None:
        """Wait until something is so, which only what comes in can make so."""
        waiters = self._waiters if waiters is None else waiters
        try:
            async with asyncio.timeout(None if timeout_ns is None else timeout_ns / 1e9):
                while not is_done():
                    self._check_open()
                    await waiters.wait()
        except GiustoError:
            raise
        except TimeoutError:
            raise TimedOut(what, timeout_ns or 0) from None

    def _changed(self) -> None:
        self._waiters.wake()

    def _has_room(self) -> bool:
        """Whether the connection takes more to send; if not, who waits is woken when it does."""
        if self._native.has_room:
            return True
        if not self._is_room_awaited:
            self._is_room_awaited = True
            self._spawn(self._tell_room())
        return False

    async def _tell_room(self) -> None:
        try:
            while not await self._loop.run_in_executor(None, self._native.wait_for_room):
                pass
        finally:
            self._is_room_awaited = False
        self._changed()

    def _watch(self) -> None:
        self._unwatch()
        self._watched = self._native.descriptors()
        for descriptor in self._watched:
            self._loop.add_reader(descriptor, self._readable)

    def _unwatch(self) -> None:
        for descriptor in self._watched:
            self._loop.remove_reader(descriptor)
        self._watched = []

    def _readable(self) -> None:
        """The loop says that there is something to read."""
        self._native.pump()
        if self._native.wants_attention:
            self._attend()
        self._dispatch()
        self._changed()

    def _dispatch(self) -> None:
        for key in self._native.take_announced():
            subscription = self._ledger.subscriptions.get(key)
            if not isinstance(subscription, Subscription):
                continue
            if subscription.callback is None:
                subscription._waiters.wake()
            elif subscription._drain_into(subscription.callback, failed, BATCH) == BATCH:
                subscription._announce()
                self._loop.call_soon(self._dispatch)

    def _attend(self) -> None:
        self._take_in()
        loss = self._native.take_loss()
        if loss is not None:
            self._lose(loss)
        self._tell()

    def _lose(self, loss: tuple[str, int, int]) -> None:
        self._unwatch()
        reason = self._note_loss(loss, again=self._restoring is not None)
        if self._restoring is not None or self._ended is not None:
            return
        if self._connected is None or not self._reconnects:
            self._end(f"connection lost: {reason}", 0)
            return
        self._restoring = self._loop.create_task(self._restore())

    async def _restore(self) -> None:
        steps = operation.restore(
            self._ledger, self._native, self.name, self._is_unnamed, lambda: self._native.now
        )
        try:
            self._note_restored(*await self._run(steps))
        finally:
            self._restoring = None
        loss = self._native.take_loss()
        if loss is not None:
            self._lose(loss)
        elif not self._native.is_connected and self._ended is None:
            # Lost again after the last answer, which was left to this task.
            self._restoring = self._loop.create_task(self._restore())
        self._tell()
        self._changed()

    def _end(self, reason: str, timeout_ns: int) -> None:
        self._unwatch()
        self._ended = self._ended or Closed(reason)
        self._native.end(reason, timeout_ns)
        self._ledger.fail_requests(self._ended)
        for subscription in self._ledger.subscriptions.values():
            if isinstance(subscription, Subscription):
                subscription._waiters.wake()
        self._changed()

    def _check_open(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _consume(
    subscription: Subscription, callback: Callable[[_core.Message], Awaitable[object]]
) -> None:
    try:
        async for message in subscription:
            try:
                await callback(message)
            except Exception as error:
                failed(error)
    except Closed:
        return


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
    trace: str | os.PathLike[str] | None = None,
) -> Connecting:
    """Connect to a broker: `async with connect(…) as bus`, or `bus = await connect(…)`.

    The arguments mean what they mean for the blocking face.
    """
    return Connecting(broker_address(address), name=name, timeout=timeout, reconnect=reconnect, trace=trace)
