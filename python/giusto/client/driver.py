"""How a blocking bus gets its answers: whoever waits drives the operation, a thread restores what is lost."""

from __future__ import annotations

import threading
from typing import TypeVar

from giusto import _core
from giusto.client import operation
from giusto.client.dispatcher import Dispatcher
from giusto.client.face import AnyBus, TraceFolder, not_connected, weak_hook
from giusto.client.operation import Ask, Open, Operation, Pause, Step
from giusto.contract import Duration
from giusto.errors import Closed, TimedOut

_Result = TypeVar("_Result")
JOIN_S = 1.0
"""A callback that is being called has this long to return when a bus is closed."""


class Driver(AnyBus):
    """A connection to a broker that drives operations to their end; any thread may."""

    def __init__(
        self,
        address: str,
        name: str | None,
        timeout: Duration,
        reconnect: bool,
        trace: TraceFolder = None,
    ) -> None:
        super().__init__(address, name, timeout, reconnect, trace)
        self._lock = threading.RLock()
        self._restorer: threading.Thread | None = None
        self._closing = threading.Event()
        self._dispatcher: Dispatcher | None = None
        self._native = self._make_native()
        try:
            self._connected = self._run(operation.connect(self._native, self.name, self._is_unnamed))
            self.name = self._connected.name
            self._begin_trace()
        except BaseException as error:
            self._native.end("never connected", 0)
            raise not_connected(error, self) from None

    def _make_native(self) -> _core.Connection:
        return _core.Connection(attend=weak_hook(self._attend), record_capacity=self._record_capacity)

    # --- operations

    def _run(self, steps: Operation[_Result]) -> _Result:
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
                outcome = self._do(step)
            except BaseException as error:
                # Also an interrupt: the operation puts in order what it has begun, and raises it again.
                problem = error

    def _do(self, step: Step) -> object:
        match step:
            case Open():
                self._open()
                return None
            case Pause():
                if self._closing.wait(step.nanoseconds / 1e9):
                    raise _Over("the bus was closed")
                return None
        return self._ask(step)

    def _open(self) -> None:
        if self._closing.is_set():
            raise _Over("the bus was closed")
        self._native.open(self.address, self._timeout_ns)

    def _ask(self, ask: Ask) -> object:
        deadline_ns = self._native.now + self._timeout_ns
        number = self._ledger.next_id()
        try:
            while not self._is_sent(ask, number, deadline_ns):
                pass
            return self._await_answer(number, deadline_ns)
        finally:
            with self._lock:
                self._forget(number)

    def _is_sent(self, ask: Ask, number: int, deadline_ns: int) -> bool:
        """Send, unless the connection is lost again before that."""
        self._wait_restored(deadline_ns)
        with self._lock:
            # Nobody can begin another connection meanwhile: the request goes to the one it was made for.
            if self._is_away:
                return False
            self._native.check_open()
            self._send(ask, number)
            return True

    def _await_answer(self, number: int, deadline_ns: int) -> object:
        while self._ledger.is_expected(number):
            seen = self._native.notified
            self._attend()
            answer = self._ledger.take_answer(number)
            if answer is not None:
                return answer
            if not self._native.wait(seen, max(0, deadline_ns - self._native.now)):
                raise TimedOut("answer of the broker", self._timeout_ns)
        return None

    def _wait_restored(self, deadline_ns: int) -> None:
        """Wait until everything is there again, if the connection is lost."""
        self._native.pump()
        if not self._native.is_connected:
            self._attend()
        while self._is_away:
            seen = self._native.notified
            if self._is_away and not self._native.wait(seen, max(0, deadline_ns - self._native.now)):
                raise TimedOut("waiting for the lost connection to be restored", self._timeout_ns)
            self._attend()

    @property
    def _is_away(self) -> bool:
        """Whether another thread is restoring the connection."""
        return self._restorer not in (None, threading.current_thread())

    # --- what comes, and what is lost

    def _attend(self) -> None:
        """Take what came, tell it, and have a lost connection restored. Called by whoever waits."""
        with self._lock:
            has_news = self._take_in()
            loss = self._native.take_loss()
            if loss is not None:
                self._lose(loss)
        if has_news or loss is not None:
            self._native.notify()
        if self._restorer is not threading.current_thread():
            self._tell()

    def _lose(self, loss: tuple[str, int, int]) -> None:
        if self._closing.is_set():
            return
        reason = self._note_loss(loss, again=self._restorer is not None)
        if self._restorer is not None:
            return
        if self._connected is None or not self._reconnects:
            self._native.end(f"connection lost: {reason}", 0)
            return
        self._restore_beside()

    def _restore_beside(self) -> None:
        """Restore in a thread: whoever waits for something else has a deadline of their own."""
        self._restorer = threading.Thread(
            target=self._restore, name=f"giusto-{self.name}-restore", daemon=True
        )
        self._restorer.start()

    def _restore(self) -> None:
        try:
            restored = self._run(
                operation.restore(self._ledger, self._native, self.name, self._is_unnamed, self._clock)
            )
            self._note_restored(*restored)
            self._stop_restoring()
        except _Over:
            return
        except BaseException as error:
            self._native.end(f"not restored: {error}", 0)
            raise
        finally:
            self._tell()
            self._native.notify()

    def _stop_restoring(self) -> None:
        with self._lock:
            self._restorer = None
            loss = self._native.take_loss()
            if loss is not None:
                self._lose(loss)
            elif not self._native.is_connected and not self._closing.is_set():
                # Lost again after the last answer, and noted by a thread that left it to this one.
                self._restore_beside()

    def _clock(self) -> int:
        return self._native.now

    def _wait_until(self, deadline_ns: int) -> None:
        """Let time pass, attending to what comes up."""
        while self._native.wait(self._native.notified, max(0, deadline_ns - self._native.now)):
            self._attend()
            self._check_open()

    def _check_open(self) -> None:
        if self._closing.is_set():
            raise Closed("the bus was closed")

    def _dispatch_if(self, wanted: bool) -> None:
        with self._lock:
            if wanted and self._dispatcher is None:
                self._dispatcher = Dispatcher(self)
                self._dispatcher.start()

    # --- the end

    def _stop(self) -> bool:
        was_open = not self._closing.is_set()
        self._closing.set()
        return was_open

    def _stop_threads(self) -> None:
        if self._join():
            return
        # No more callbacks than the one that is called now.
        for subscription in list(self._ledger.subscriptions.values()):
            subscription.purge()
        self._join()

    def _join(self) -> bool:
        """Wait a moment for the threads of a bus that has ended; whether they are gone."""
        threads = (self._dispatcher, self._restorer)
        others = [one for one in threads if one is not None and one is not threading.current_thread()]
        for thread in others:
            thread.join(JOIN_S)
        return not any(thread.is_alive() for thread in others)


class _Over(Exception):
    """The bus was closed while it was being restored."""
