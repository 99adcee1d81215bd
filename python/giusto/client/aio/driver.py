"""How an asyncio bus gets its answers: the loop watches the socket, and a task restores what is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self, TypeVar

from giusto import _core
from giusto.client import operation
from giusto.client.aio.subscription import BATCH, Subscription
from giusto.client.aio.waiter import Waiters
from giusto.client.face import AnyBus, TraceFolder, failed, not_connected, weak_hook
from giusto.client.operation import Ask, Open, Operation, Pause, Step
from giusto.contract import Duration
from giusto.errors import Closed, GiustoError, TimedOut

_Result = TypeVar("_Result")
CLOSED = "the bus was closed"


class Driver(AnyBus):
    """A connection to a broker that drives operations to their end, in the loop it was made in."""

    def __init__(
        self,
        address: str,
        name: str | None,
        timeout: Duration,
        reconnect: bool,
        trace: TraceFolder = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        super().__init__(address, name, timeout, reconnect, trace)
        hook, capacity = weak_hook(self._attend), self._record_capacity
        self._native = _core.Connection(in_loop=True, attend=hook, record_capacity=capacity)
        self._watched: list[int] = []
        self._waiters = Waiters()
        self._is_room_awaited = False
        self._ended: Closed | None = None
        self._is_closed = False
        self._restoring: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

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

    # --- operations

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

    # --- what comes, and what is lost

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

    # --- the end

    def _stop(self) -> bool:
        was_open = self._ended is None
        self._ended = self._ended or Closed(CLOSED)
        return was_open

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
