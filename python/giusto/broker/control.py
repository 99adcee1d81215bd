"""What the control plane makes of what happens on connections: answers, refusals, notices.

Nothing that a client sends gets out of here as an exception: what cannot be read or granted is answered or
closes that connection, and a mistake of ours closes it too, and is logged. So is a mistake beside a request,
and what it was about is left as it is: what counts counts on.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from giusto.broker import plane as codes
from giusto.broker.address import host_of
from giusto.broker.desk import Desk
from giusto.broker.exchange import NotConnected, decode, failed, readable_id
from giusto.broker.facts import facts_of
from giusto.broker.guarded import Guarded
from giusto.broker.keeping import Keeping
from giusto.broker.learning import Learning
from giusto.broker.leaving import Leaving
from giusto.broker.mishap import survived
from giusto.broker.plane import Event, Plane
from giusto.broker.registry import Client, Registry
from giusto.broker.requests import Requests
from giusto.broker.restore import restore
from giusto.broker.status import About
from giusto.broker.store import Store
from giusto.broker.topics import Topics
from giusto.broker.verdicts import news
from giusto.config import BrokerConfig
from giusto.errors import GiustoError, InvalidInput, Unknown
from giusto.guarantee.basis import costs_of, setting_of
from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs
from giusto.protocol import Answer, Closing, Connect, Connected, Dropped, Request, Wire, encode

_log = logging.getLogger("giusto.broker")

GOODBYE = "goodbye"
"""Why a connection was closed by a client that needs nothing kept."""


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
        costs: Costs | None = None,
        store: Store | None = None,
        node: str = "",
        unkept: Callable[[], dict[str, dict[str, int]]] = dict,
    ) -> None:
        self.registry = Registry()
        self._plane = plane
        self._config = config
        self._udp_port = udp_port
        self._addresses: dict[int, str] = {}
        # Clients that have not been told all their losses.
        self._losers: dict[Client, None] = {}
        self._about = About(
            run=run,
            version=version,
            input=config.input,
            output=config.output,
            started_ns=clock(),
            unkept=unkept,
        )
        self._topics = Topics(plane, self.registry, config)
        book = Book(setting_of(config, costs_of(config) if costs is None else costs))
        self.guarded = Guarded(self.registry, config, book, clock)
        self._topics.is_promised = lambda name: name in self.guarded.topics
        keeping = Keeping(store, config.share, self.registry.is_unnamed, self.guarded.place)
        reserve_ns = config.guarantee.reserve_ns
        desk = Desk(plane, self.registry, self.guarded, keeping, config, clock)
        self.leaving = Leaving(plane, self.registry, self.guarded, keeping, reserve_ns, clock)
        self.restored = 0
        if store is not None:
            until_ns = clock() + reserve_ns
            self.restored = restore(self.guarded, desk, keeping, self._topics, store.load(), until_ns)
            for remark in store.remarks:
                _log.warning("%s", remark)
        self._requests = Requests(
            plane,
            self.registry,
            self._topics,
            self.guarded,
            desk,
            self.leaving,
            Learning(plane, self.registry, self.guarded, desk, config, clock, node, run),
            config,
            self._about,
            clock,
            self._send,
        )

    # --- what happens

    def turn(self, timeout_ns: int | None) -> int:
        """Handle what has happened, or the first that does within `timeout_ns`; how much it was."""
        is_behind = self._topics.has_due or self.leaving.is_behind
        events = self._plane.events(0 if is_behind else timeout_ns)
        for event in events:
            self.handle(event)
        with survived("telling clients whom they have"):
            for conn, notice in self.registry.take_matched():
                self._send(notice, conn)
        with survived("telling clients what their promises come to"):
            for conn, verdict in news(self.guarded):
                self._send(verdict, conn)
        ended = 0
        with survived("letting go what has ended"):
            ended = self.leaving.some()
        with survived("forgetting topics"):
            self._topics.forget_some()
        return len(events) + ended

    def handle(self, event: Event) -> None:
        """Whatever a connection did."""
        with survived(f"handling that a connection {event[0]}"):
            match event:
                case ("opened", conn, address):
                    self._addresses[conn] = address
                case ("control", conn, body):
                    self._handle_control(conn, body)
                case ("closed", conn, reason):
                    self._closed(conn, reason)
        for client, patterns in self.registry.take_left():
            with survived(f"keeping what {client.name} had"):
                self.leaving.vanished(client)
            with survived(f"letting {client.name} go"):
                self.leaving.left(patterns)

    def _closed(self, conn: int, reason: str) -> None:
        _log.debug("connection %d closed: %s", conn, reason)
        self._addresses.pop(conn, None)
        client = self.registry.clients.get(conn)
        if client is not None and reason == GOODBYE:
            with survived(f"the goodbye of {client.name}"):
                self.leaving.goodbye(client)
        self.registry.remove_client(conn)

    def facts(self) -> dict[str, Any]:
        """What topics and clients are allotted now, and which bounds were proved."""
        bounds_ns = {topic: self.guarded.bound_ns(topic) for topic in self.guarded.topics}
        return facts_of(self.registry, bounds_ns, self._config)

    def tend(self) -> None:
        """Let go what has been kept long enough for clients that are away."""
        with survived("letting go what was kept"):
            if self.leaving.has_due:
                self.leaving.tend()

    def report_losses(self) -> None:
        """Tell each client what was lost since the last time; who does not read is told the sum later."""
        with survived("telling clients what was lost"):
            self._count_losses()
            if self._losers:
                self._tell_losses(set(self._plane.unread()))

    def _count_losses(self) -> None:
        for conn, topic, flow, reason, count in self._plane.losses():
            client = self.registry.clients.get(conn)
            name = self.registry.topic_names.get(topic)
            if client is not None and name is not None:
                client.dropped[reason] += count
                client.untold[name, reason, flow] += count
                self._losers[client] = None

    def _tell_losses(self, unread: set[int]) -> None:
        for client in list(self._losers):
            if client.conn in unread:
                continue
            del self._losers[client]
            untold, client.untold = client.untold, Counter()
            for (topic, reason, flow), count in untold.items():
                self._send(Dropped(topic, reason, count, flow), client.conn)

    def forget_vacant(self) -> None:
        """Forget the topics that have been vacant since the last call: some now, others in the next turns."""
        with survived("forgetting topics"):
            self._topics.look()
            self._topics.forget_some()

    def announce_closing(self, reason: str) -> None:
        """The last notice to everybody."""
        for conn in list(self.registry.clients):
            self._send(Closing(reason), conn)

    # --- one request

    def _handle_control(self, conn: int, body: bytes) -> None:
        number: int | None = None
        try:
            number = readable_id(body)
            request = decode(body)
            self._send(self._answer(conn, request), conn)
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
            raise NotConnected(f"{type(request).__name__} before Connect")
        return self._requests.answer(client, request)

    def _refuse(self, conn: int, number: int | None, error: GiustoError) -> None:
        if isinstance(error, NotConnected):
            self._close(conn, codes.NOT_CONNECTED, str(error))
        elif number is None:
            self._close(conn, codes.PROTOCOL_ERROR, str(error))
        else:
            self._send(failed(number, error), conn)

    def _connect(self, conn: int, request: Connect) -> Connected:
        name = request.name or self._free_name()
        address = self._addresses.get(conn, "")
        udp = self._datagrams(address, request.udp_port)
        number = self._plane.connect(conn, name, udp)
        unnamed = request.unnamed or not request.name
        self.registry.add_client(conn, number, name, address, datagrams=udp is not None, unnamed=unnamed)
        return Connected(
            id=request.id,
            client=number,
            name=name,
            run=self._about.run,
            version=self._about.version,
            input=self._about.input,
            output=self._about.output,
            udp_port=self._udp_port if udp is not None else None,
        )

    def _datagrams(self, address: str, port: int | None) -> tuple[str, int] | None:
        """Where datagrams of a client go, if both sides have them."""
        host = host_of(address)
        if port is None or self._udp_port is None or not host:
            return None
        return host, _port(port)

    def _free_name(self) -> str:
        place = len(self.registry.clients) + 1
        while self.registry.has_name(f"client-{place}"):
            place += 1
        return f"client-{place}"

    # --- what goes out

    def _send(self, message: Wire, *conns: int) -> None:
        if not conns:
            return
        body = encode(message)
        for conn in conns:
            try:
                self._plane.send(conn, body)
            except Unknown:
                _log.debug("connection %d went before it got %s", conn, type(message).__name__)

    def _close(self, conn: int, code: int, text: str) -> None:
        try:
            self._plane.close(conn, code, text)
        except Unknown:
            _log.debug("connection %d went before it was closed: %s", conn, text)


def _port(port: int) -> int:
    if not 0 < port < 65_536:
        raise InvalidInput("udp_port", port, "a port from 1 to 65535")
    return port
