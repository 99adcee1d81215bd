"""The blocking face: every call returns when it is done, and any thread may call."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from giusto import _core
from giusto.client import exchange, operation
from giusto.client.dispatcher import Dispatcher
from giusto.client.entity import announcement, interest
from giusto.client.events import Drop, Matchedness, Miss, Violation
from giusto.client.face import ADDRESS, LEAVE_NS, QUEUE, AnyBus, broker_address, not_connected, weak_hook
from giusto.client.operation import Ask, Open, Operation, Pause, Step
from giusto.client.publisher import Publisher
from giusto.client.report import Periods, Report
from giusto.client.stream import Events
from giusto.client.subscription import Subscription
from giusto.contract import Duration, Explanation, Need, Offer, duration_ns
from giusto.errors import Closed, Refused, TimedOut
from giusto.protocol import Party, ShareTerms, StatusIs, ViewsAre

_Result = TypeVar("_Result")
JOIN_S = 1.0
"""A callback that is being called has this long to return when a bus is closed."""


class Bus(AnyBus):
    """A connection to a broker. Leaving its `with` block closes it."""

    def __init__(
        self,
        address: str = ADDRESS,
        *,
        name: str | None = None,
        timeout: Duration = 5.0,
        reconnect: bool = True,
        trace: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(address, name, timeout, reconnect, trace)
        self._lock = threading.RLock()
        self._restorer: threading.Thread | None = None
        self._closing = threading.Event()
        self._dispatcher: Dispatcher | None = None
        self._replies: Subscription | None = None
        self._second: Bus | None = None
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

    # --- the five primitives

    def advertise(
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
        with self._lock:
            moved = self._take_unlimited(publisher.offer)
        for one in moved:
            one.unadvertise()
        self._run(operation.advertise(self._ledger, publisher))
        self._dispatch_if(bool(publisher.handlers))
        return publisher

    def subscribe(
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

        With `callback` a thread of the bus calls it with each message; without, the caller receives.
        """
        on = {
            "on_miss": on_miss,
            "on_violation": on_violation,
            "on_matched": on_matched,
            "on_drop": on_drop,
        }
        subscription = Subscription(self, interest(pattern, need, filter, type, queue, overflow, on))
        subscription.callback = callback
        if callback is not None:
            subscription._announce()
        self._run(operation.subscribe(self._ledger, subscription))
        self._dispatch_if(bool(subscription.handlers) or callback is not None)
        return subscription

    # --- questions to the broker

    def publishers(self, topic: str) -> list[Party]:
        """Who publishes on a topic."""
        return self._run(operation.publishers(topic))

    def subscribers(self, topic: str) -> list[Party]:
        """Whose patterns cover a topic."""
        return self._run(operation.subscribers(topic))

    def allot(self, topic: str, **share: int) -> None:
        """Give a topic another share: `weight`, or what the broker's policy knows."""
        self._run(operation.allot(topic, ShareTerms(**share)))

    def status(self) -> StatusIs:
        """Counters and delays of all topics and clients of the broker."""
        return self._run(operation.status())

    def views(self, pattern: str = "#") -> ViewsAre:
        """W, MatrixIN and MatrixOUT: the shares of topics, and which clients publish and receive them."""
        return self._run(operation.views(pattern))

    def explain(self, topic: str) -> Explanation:
        """How the bounds of a topic come about, term by term; `print` it."""
        return self._run(operation.explain(topic))

    # --- request and reply

    def request(
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
            return self._beside().request(topic, payload, timeout=timeout, attributes=attributes)
        deadline_ns = self._native.now + timeout_ns
        with self._lock:
            asked, replies = self._exchanges(), self._reply_box()
            publisher = self._requester(topic, offer)
        number, carried = asked.ask()
        try:
            publisher.publish(payload, attributes={**(attributes or {}), **carried}, timeout=timeout)
            while True:
                seen = self._native.notified
                self._settle_replies(asked, replies)
                reply = asked.take(number)
                if reply is not None:
                    return reply
                if not replies._wait(seen, max(0, deadline_ns - self._native.now)):
                    nobody = "" if publisher.matched else " (nobody subscribes to it)"
                    raise TimedOut(f"request on {topic}{nobody}", timeout_ns)
        finally:
            asked.forget(number)

    def _requester(self, topic: str, offer: Offer | None) -> Publisher:
        publisher = self._ledger.publishers.get(topic)
        if publisher is None:
            publisher = self.advertise(topic, offer)
            if offer is None:
                self._requesters[topic] = publisher
        assert isinstance(publisher, Publisher)
        return publisher

    def serve(
        self,
        topic: str,
        handler: Callable[[_core.Message], bytes | None],
        need: Need | None = None,
        *,
        offer: Offer | None = None,
    ) -> Subscription:
        """Answer the requests on a topic with what `handler` returns, or with what it raises.

        `offer` is for the replies to each requester; they have no limit without one.
        """

        def answer(message: _core.Message) -> None:
            asked = exchange.question(message)
            if asked is None:
                return
            reply_topic, attributes = asked
            try:
                payload = exchange.answer(handler(message))
                self._replier(reply_topic, offer).publish(payload, attributes=attributes, timeout="5s")
            except Exception as error:
                self._apologise(reply_topic, offer, attributes, error)

        return self.subscribe(topic, need, callback=answer)

    def _apologise(
        self, topic: str, offer: Offer | None, attributes: dict[str, Any], error: Exception
    ) -> None:
        """Answer a request with what was raised; also if it was that the reply cannot be published."""
        try:
            replier = self._replier(topic, offer)
            payload, more = exchange.refusal(error, replier.offer)
            replier.publish(payload, attributes=attributes | more, timeout="5s")
        except Refused:
            payload, more = exchange.refusal(error, exchange.APOLOGY)
            # Where nothing else is without a limit.
            bus = self if self._has_limits else self._beside()
            with bus.advertise(topic, exchange.APOLOGY) as publisher:
                publisher.publish(payload, attributes=attributes | more, timeout="5s")

    def _beside(self) -> Bus:
        """The connection for requests and replies if this one publishes something with a limit."""
        with self._lock:
            self._check_open()
            if self._second is None or self._second._is_lost:
                self._second = self._connect_beside(self._second_name)
                self._second._is_second = True
            return self._second

    def _connect_beside(self, name: str | None) -> Bus:
        return Bus(self.address, name=name, timeout=f"{self._timeout_ns}ns", reconnect=self._reconnects)

    def _reply_box(self) -> Subscription:
        if self._replies is None:
            self._replies = self.subscribe(self._exchanges().topic)
        return self._replies

    def _settle_replies(self, asked: exchange.Exchange, replies: Subscription) -> None:
        with self._lock:
            found = replies._take_many(1024)
            for reply in found:
                asked.settle(reply)
        if found:
            self._native.notify()

    def _replier(self, topic: str, offer: Offer | None) -> Publisher:
        if offer is None and self._has_limits and topic not in self._repliers:
            return self._beside()._replier(topic, None)
        publisher: Publisher | None = self._repliers.get(topic)
        if publisher is None:
            publisher = self._repliers[topic] = self.advertise(topic, offer)
        self._repliers.move_to_end(topic)
        if len(self._repliers) > exchange.REPLIERS_MAX:
            _, oldest = self._repliers.popitem(last=False)
            oldest.unadvertise()
        return publisher

    # --- events and reports

    @property
    def events(self) -> Events:
        """Everything that the bus has to tell, one event after the other."""
        return Events(self)

    def reports(self, every: Duration = 1) -> Iterator[list[Report]]:
        """How each subscription was served, period by period."""
        periods = Periods(duration_ns(every, "every", least_ns=1), self._native.now)
        while True:
            self._wait_until(periods.next_ns)
            periods.pass_by(self._native.now)
            yield self.recent_reports()

    def on_report(self, callback: Callable[[list[Report]], object], every: Duration = 1) -> None:
        """Call back with the reports of each period; once for a bus."""
        every_ns = duration_ns(every, "every", least_ns=1)
        self._take_reports()
        self._dispatch_if(True)
        assert self._dispatcher is not None
        self._dispatcher.report(callback, every_ns)

    # --- the end

    def flush(self, timeout: Duration = 5) -> None:
        """Wait until everything that was published has left this process."""
        timeout_ns = duration_ns(timeout, "timeout")
        if not self._native.flush(timeout_ns):
            raise TimedOut("flush", timeout_ns)

    def close(self) -> None:
        """Send what waits, say goodbye and close. Iterations end; who waits otherwise gets `Closed`."""
        self._closing.set()
        if self._second is not None:
            self._second.close()
        self._native.end("the bus was closed", LEAVE_NS, is_wanted=True)
        self._join()
        self._end_trace()

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- waiting

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


class _Over(Exception):
    """The bus was closed while it was being restored."""


def connect(
    address: str | None = None,
    *,
    name: str | None = None,
    timeout: Duration = 5.0,
    reconnect: bool = True,
    trace: str | os.PathLike[str] | None = None,
) -> Bus:
    """Connect to a broker: at `address`, else at `GIUSTO_ADDRESS`, else on this machine.

    `timeout` is for connecting and for each answer. With `reconnect` a lost connection is restored by a
    thread, with all publishers and subscriptions, once somebody notices the loss; without, everything raises
    `Closed` from then on. With `trace`, a folder, a record of each message that comes in is written there.
    """
    return Bus(broker_address(address), name=name, timeout=timeout, reconnect=reconnect, trace=trace)
