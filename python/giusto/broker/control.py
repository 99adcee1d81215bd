"""What one request of a client does: calls on the data plane, an answer, and notices to others.

Names come before the data that needs them: a subscriber is told every topic and source that it will see
before the data plane may send it anything of them. A request that fails changed nothing. Nothing that a
client sends gets out of here as an exception.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from giusto import _core
from giusto.broker import plane as codes
from giusto.broker.address import host_of
from giusto.broker.plane import Event, Plane
from giusto.broker.registry import Client, Registry, Topic
from giusto.broker.status import status_answer
from giusto.config import BrokerConfig
from giusto.config.broker import share_of
from giusto.contract import Need, Offer
from giusto.errors import Duplicate, GiustoError, InvalidInput, ProtocolError, Unknown
from giusto.protocol import (
    Advertise,
    Advertised,
    Allot,
    Answer,
    Closing,
    Connect,
    Connected,
    Done,
    Dropped,
    Failed,
    Parties,
    Party,
    Publishers,
    Request,
    Status,
    Subscribe,
    Subscribed,
    Subscribers,
    Unadvertise,
    Unsubscribe,
    Wire,
    decode_request,
    encode,
)

BODY_BYTES_MAX = 65_536
# Beyond so many topics without publishers they are forgotten at once.
VACANT_MAX = 10_000
UNASKED = "no latency was asked for"
UNPROVED = "this broker does not prove bounds yet; later deliveries are reported as misses"

_log = logging.getLogger("giusto.broker")


class Control:
    """The control plane of one broker."""

    def __init__(
        self,
        plane: Plane,
        config: BrokerConfig,
        *,
        run: str,
        version: str,
        clock: Callable[[], int],
        udp_port: int | None = None,
    ) -> None:
        self.registry = Registry()
        self._plane = plane
        self._config = config
        self._run = run
        self._version = version
        self._clock = clock
        self._started_ns = clock()
        self._addresses: dict[int, str] = {}
        self._vacant_before: set[str] = set()
        self._udp_port = udp_port
        self._requests: dict[type[Request], Callable[[Client, Any], Answer]] = {
            Advertise: self._advertise,
            Unadvertise: self._unadvertise,
            Subscribe: self._subscribe,
            Unsubscribe: self._unsubscribe,
            Allot: self._allot,
            Publishers: self._publishers,
            Subscribers: self._subscribers,
            Status: self._status,
        }
        for name in config.named_topics:
            self._declare(name, kept=True)

    # --- what happens

    def turn(self, timeout_ns: int | None) -> int:
        """Handle what has happened, or the first that does within `timeout_ns`; how much it was."""
        events = self._plane.events(timeout_ns)
        for event in events:
            self.handle(event)
        for conn, notice in self.registry.take_matched():
            self._send(conn, notice)
        return len(events)

    def handle(self, event: Event) -> None:
        """Whatever a connection did."""
        match event:
            case ("opened", conn, address):
                self._addresses[conn] = address
            case ("control", conn, body):
                self._handle_control(conn, body)
            case ("closed", conn, reason):
                self._addresses.pop(conn, None)
                self.registry.remove_client(conn)
                _log.debug("connection %d closed: %s", conn, reason)

    def report_losses(self) -> None:
        """Tell each client what was lost since the last time."""
        for conn, topic, flow, reason, count in self._plane.losses():
            client = self.registry.clients.get(conn) if conn is not None else None
            name = self.registry.topic_names.get(topic)
            if client is not None and name is not None:
                client.dropped[reason] += count
                self._send(client.conn, Dropped(name, reason, count, flow))

    def forget_vacant(self) -> None:
        """Forget the topics that have been vacant since the last call."""
        for topic in list(self.registry.vacant.values()):
            if topic.name in self._vacant_before:
                self._forget(topic)
        self._vacant_before = set(self.registry.vacant)

    def announce_closing(self, reason: str) -> None:
        """The last notice to everybody."""
        for conn in list(self.registry.clients):
            self._send(conn, Closing(reason))

    # --- one request

    def _handle_control(self, conn: int, body: bytes) -> None:
        number: int | None = None
        try:
            number = readable_id(body)
            request = _decode(body)
            self._send(conn, self._answer(conn, request))
        except GiustoError as error:
            self._refuse(conn, number, error)
        except Exception:
            _log.exception("a request of connection %d", conn)
            self._close(conn, codes.INTERNAL, "the broker failed to handle a request; its log says why")

    def _answer(self, conn: int, request: Request) -> Answer:
        client = self.registry.clients.get(conn)
        if isinstance(request, Connect):
            if client is not None:
                raise InvalidInput("op", "connect", "one Connect per connection")
            return self._connect(conn, request)
        if client is None:
            raise _NotConnected(f"{type(request).__name__} before Connect")
        return self._requests[type(request)](client, request)

    def _refuse(self, conn: int, number: int | None, error: GiustoError) -> None:
        if isinstance(error, _NotConnected):
            self._close(conn, codes.NOT_CONNECTED, str(error))
        elif number is None:
            self._close(conn, codes.PROTOCOL_ERROR, str(error))
        else:
            self._send(conn, failed(number, error))

    def _connect(self, conn: int, request: Connect) -> Connected:
        name = request.name or self._free_name()
        address = self._addresses.get(conn, "")
        udp = None
        if request.udp_port is not None and self._udp_port is not None:
            udp = (host_of(address), _port(request.udp_port))
        number = self._plane.connect(conn, name, udp)
        self.registry.add_client(conn, number, name, address)
        return Connected(
            id=request.id,
            client=number,
            name=name,
            run=self._run,
            version=self._version,
            input=self._config.input,
            output=self._config.output,
            udp_port=self._udp_port if udp is not None else None,
        )

    def _free_name(self) -> str:
        place = len(self.registry.clients) + 1
        while self.registry.has_name(f"client-{place}"):
            place += 1
        return f"client-{place}"

    def _advertise(self, client: Client, request: Advertise) -> Advertised:
        offer = Offer.from_terms(request.offer)
        _require_room("topics", len(client.flows), self._config.limits.topics)
        topic = self.registry.topics.get(request.topic) or self._declare(request.topic)
        if client.conn in topic.flows:
            raise Duplicate("flow", f"of {client.name} on {request.topic}")
        policed = offer.limit is not None
        number = self._plane.advertise(
            client.conn,
            topic.number,
            capacity=offer.queue,
            max_size_bytes=offer.max_size_bytes,
            min_sep_ns=offer.min_sep_ns,
            count=offer.count,
            period_ns=offer.period_ns,
            burst=offer.burst if policed else None,
            jitter_ns=offer.jitter_ns if policed else None,
        )
        self.registry.add_flow(client, topic, number, request.offer)
        subscriptions = self.registry.subscriptions_to(topic.name)
        for subscriber in dict.fromkeys(subscription.client for subscription in subscriptions):
            self._tell_names(subscriber, [topic])
        return Advertised(
            id=request.id,
            flow=number,
            topic=topic.number,
            credit=offer.queue,
            subscribers=len(subscriptions),
        )

    def _unadvertise(self, client: Client, request: Unadvertise) -> Done:
        flow = self.registry.flow_of(client, request.flow)
        self._plane.unadvertise(client.conn, flow.number)
        self.registry.remove_flow(flow)
        return Done(id=request.id)

    def _subscribe(self, client: Client, request: Subscribe) -> Subscribed:
        need = Need.from_terms(request.need)
        _require_room("subscriptions", len(client.subscriptions), self._config.limits.subscriptions)
        _core.topic_matches(request.pattern, "any")
        filter = None if request.filter is None else _core.Filter(request.filter)
        self._tell_names(client, self.registry.topics_covered(request.pattern))
        number = self._plane.subscribe(client.conn, request.pattern, filter=filter, need=engine_need(need))
        subscription = self.registry.add_subscription(client, request.pattern, number, request.need)
        return Subscribed(
            id=request.id,
            subscription=number,
            publishers=subscription.publishers,
            reason=UNASKED if need.max_latency_ns is None else UNPROVED,
        )

    def _unsubscribe(self, client: Client, request: Unsubscribe) -> Done:
        subscription = self.registry.subscription_of(client, request.subscription)
        self._plane.unsubscribe(client.conn, subscription.number)
        self.registry.remove_subscription(subscription)
        return Done(id=request.id)

    def _allot(self, client: Client, request: Allot) -> Done:
        topic = self.registry.topics.get(request.topic)
        if topic is None:
            raise Unknown("topic", request.topic)
        self._plane.allot(topic.number, share_of(request.share))
        topic.share = request.share
        return Done(id=request.id)

    def _publishers(self, client: Client, request: Publishers) -> Parties:
        _core.topic_matches(request.topic, "any")
        flows = (
            flow for topic in self.registry.topics_covered(request.topic) for flow in topic.flows.values()
        )
        parties = [
            Party(flow.client.number, flow.client.name, flow.topic.name, offer=flow.offer) for flow in flows
        ]
        return Parties(id=request.id, parties=parties)

    def _subscribers(self, client: Client, request: Subscribers) -> Parties:
        parties = [
            Party(each.client.number, each.client.name, each.pattern, need=each.need)
            for each in self.registry.subscriptions_to(request.topic)
        ]
        return Parties(id=request.id, parties=parties)

    def _status(self, client: Client, request: Status) -> Answer:
        now_ns = self._clock()
        return status_answer(
            request.id,
            self.registry,
            self._plane.status(),
            run=self._run,
            version=self._version,
            uptime_ns=now_ns - self._started_ns,
            now_ns=now_ns,
            input=self._config.input,
            output=self._config.output,
        )

    # --- topics

    def _declare(self, name: str, *, kept: bool = False) -> Topic:
        share = self._config.share(name)
        if len(self.registry.vacant) > VACANT_MAX:
            self._forget(next(iter(self.registry.vacant.values())))
        number = self._plane.declare(name, share_of(share))
        return self.registry.add_topic(number, name, share, kept=kept)

    def _forget(self, topic: Topic) -> None:
        try:
            self._plane.forget(topic.number)
        except InvalidInput:
            # Messages of flows that ended still wait: it is the others' turn first.
            self.registry.vacant[topic.name] = self.registry.vacant.pop(topic.name)
            return
        self.registry.remove_topic(topic)

    # --- what goes out

    def _tell_names(self, client: Client, topics: list[Topic]) -> None:
        for notice in self.registry.names_for(client, topics):
            self._send(client.conn, notice)

    def _send(self, conn: int, message: Wire) -> None:
        try:
            self._plane.send(conn, encode(message))
        except Unknown:
            _log.debug("connection %d went before it got %s", conn, type(message).__name__)

    def _close(self, conn: int, code: int, text: str) -> None:
        try:
            self._plane.close(conn, code, text)
        except Unknown:
            _log.debug("connection %d went before it was closed: %s", conn, text)


class _NotConnected(GiustoError):
    """A request before Connect."""


def _decode(body: bytes) -> Request:
    if len(body) > BODY_BYTES_MAX:
        raise ProtocolError(f"control frame: {len(body)} bytes, at most {BODY_BYTES_MAX}", 8)
    return decode_request(body)


def readable_id(body: bytes) -> int | None:
    """The id of a request that may be wrong otherwise."""
    try:
        return _any_request.decode(body).id
    except (msgspec.DecodeError, RecursionError):
        return None


class _AnyRequest(msgspec.Struct):
    id: int


_any_request = msgspec.msgpack.Decoder(_AnyRequest)


def failed(number: int, error: GiustoError) -> Failed:
    """The answer that lets a client raise the same error."""
    plain = [value if isinstance(value, int | float | str | None) else str(value) for value in error.args]
    return Failed(id=number, error=type(error).__name__, args=plain)


def engine_need(need: Need) -> _core.Need | None:
    """What the output stage knows: a deadline with its worth. A latency is to be proved, not enforced."""
    if need.deadline_ns is None:
        return None
    return _core.Need(deadline_ns=need.deadline_ns, price=need.price, penalty=need.penalty)


def _port(port: int) -> int:
    if not 0 < port < 65_536:
        raise InvalidInput("udp_port", port, "a port from 1 to 65535")
    return port


def _require_room(what: str, count: int, most: int) -> None:
    if count >= most:
        raise InvalidInput(
            what, count + 1, f"at most {most} of one client, as limits.{what} of the broker says"
        )
