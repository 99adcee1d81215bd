"""The blocking face: every call returns when it is done, and any thread may call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from giusto import _core
from giusto.client import exchange
from giusto.client.face import ADDRESS, LEAVE_NS, TraceFolder, broker_address
from giusto.client.primitives import Primitives
from giusto.client.publisher import Publisher
from giusto.client.report import Periods, Report
from giusto.client.stream import Events
from giusto.client.subscription import Subscription
from giusto.contract import Duration, Need, Offer, duration_ns
from giusto.errors import Refused, TimedOut


class Bus(Primitives):
    """A connection to a broker. Leaving its `with` block closes it."""

    def __init__(
        self,
        address: str = ADDRESS,
        *,
        name: str | None = None,
        timeout: Duration = 5.0,
        reconnect: bool = True,
        trace: TraceFolder = None,
    ) -> None:
        self._replies: Subscription | None = None
        self._second: Bus | None = None
        super().__init__(address, name, timeout, reconnect, trace)

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(
    address: str | None = None,
    *,
    name: str | None = None,
    timeout: Duration = 5.0,
    reconnect: bool = True,
    trace: TraceFolder = None,
) -> Bus:
    """Connect to a broker: at `address`, else at `GIUSTO_ADDRESS`, else on this machine.

    `timeout` is for connecting and for each answer. With `reconnect` a lost connection is restored by a
    thread, with all publishers and subscriptions, once somebody notices the loss; without, everything raises
    `Closed` from then on. With `trace`, a folder, a record of each message that comes in is written there.
    """
    return Bus(broker_address(address), name=name, timeout=timeout, reconnect=reconnect, trace=trace)
