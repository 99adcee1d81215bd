"""A data plane that forwards nothing and writes down what it is asked; numbers are those of a real engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from giusto import _core
from giusto.broker import Control
from giusto.broker.store import Store
from giusto.config import BrokerConfig
from giusto.errors import InvalidInput, Unknown
from giusto.guarantee.costs import Costs, Line
from giusto.protocol import AnyAnswer, AnyNotice, Connect, Request, decode_reply, encode

Reply = AnyAnswer | AnyNotice


class RecordingPlane:
    """Clients are what the test says; `calls` are the names of all calls, in order."""

    def __init__(self) -> None:
        self.engine = _core.Engine()
        self.clients: dict[int, int] = {}
        self.open: set[int] = set()
        self.happened: list[tuple[str, int, Any]] = []
        self.sent: dict[int, list[Reply]] = {}
        self.closed: dict[int, tuple[int, str]] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.deaf: set[int] = set()
        self.lost: list[tuple[int, int, int | None, str, int]] = []
        self.counted: dict[str, Any] = {"topics": {}, "clients": {}}

    # --- what the test does

    def opens(self, conn: int, address: str = "tcp://127.0.0.1:5000") -> None:
        self.open.add(conn)
        self.sent[conn] = []
        self.happened.append(("opened", conn, address))

    def hangs_up(self, conn: int, *, said: bool = True) -> None:
        """A connection goes; `said=False`: the control plane is not told yet."""
        self.open.discard(conn)
        if conn in self.clients:
            self.engine.disconnect(self.clients.pop(conn))
        if said:
            self.happened.append(("closed", conn, "went away"))

    # --- what the control plane does

    def events(self, timeout_ns: int | None) -> list[Any]:
        events, self.happened = self.happened, []
        return events

    def connect(self, conn: int, name: str, udp: tuple[str, int] | None = None) -> int:
        self._require(conn)
        self.calls.append(("connect", name, udp))
        self.clients[conn] = self.engine.connect(name)
        return self.clients[conn]

    def declare(self, name: str, share: _core.Share | None = None) -> int:
        self.calls.append(("declare", name, None if share is None else share.weight))
        return self.engine.declare(name, share)

    def forget(self, topics: Sequence[int]) -> list[int]:
        self.calls.append(("forget", *topics))
        return [topic for topic in topics if self._forgets(topic)]

    def _forgets(self, topic: int) -> bool:
        try:
            self.engine.forget(topic)
        except InvalidInput:
            return False
        return True

    def guard(self, topics: Sequence[int], guarded: bool) -> list[int]:
        self.calls.append(("guard" if guarded else "unguard", *topics))
        return [topic for topic in topics if self.engine.guard(topic, guarded)]

    def allot(self, topic: int, share: _core.Share) -> None:
        self.engine.allot(topic, share)

    def advertise(self, conn: int, topic: int, **offer: Any) -> int:
        self._require(conn)
        self.calls.append(
            ("advertise", topic, {key: value for key, value in offer.items() if value is not None})
        )
        count, period = offer.pop("count"), offer.pop("period_ns")
        assert (count is None) == (period is None)
        return self.engine.advertise(self.clients[conn], topic, **offer)

    def unadvertise(self, conn: int, flow: int) -> None:
        self._require(conn)
        self.engine.unadvertise(flow)

    def subscribe(self, conn: int, pattern: str, *, filter: Any = None, need: Any = None) -> int:
        self._require(conn)
        # What had been sent by then, so that a test sees that names come first.
        self.calls.append(("subscribe", pattern, filter, need, len(self.sent[conn])))
        return self.engine.subscribe(self.clients[conn], pattern, filter=filter, need=need)

    def unsubscribe(self, conn: int, subscription: int) -> None:
        self._require(conn)
        self.engine.unsubscribe(subscription)

    def send(self, conn: int, body: bytes) -> None:
        self._require(conn)
        self.sent[conn].append(decode_reply(body))

    def close(self, conn: int, code: int, text: str) -> None:
        self._require(conn)
        self.closed[conn] = (code, text)
        self.hangs_up(conn)

    def unread(self) -> list[int]:
        return list(self.deaf)

    def losses(self) -> list[tuple[int, int, int | None, str, int]]:
        lost, self.lost = self.lost, []
        return lost

    def status(self) -> dict[str, Any]:
        return self.counted

    def _require(self, conn: int) -> None:
        if conn not in self.open:
            raise Unknown("connection", str(conn))


SWIFT = Costs(
    take=Line(6_000, 1_000),
    step=Line(1_500),
    deliver=Line(400),
    write=Line(12_000, 1_000),
    turn_ns=5_000,
    call_ns=200_000,
    hop_ns=100_000,
    serve=None,
    serve_each=None,
)
"""A machine on which promises of a millisecond can be kept, whatever the default costs are."""


class Bench:
    """A control plane on a recording plane, and clients that ask it things."""

    def __init__(
        self,
        config: BrokerConfig | None = None,
        *,
        udp_port: int | None = None,
        costs: Costs | None = None,
        store: Store | None = None,
    ) -> None:
        self.plane = RecordingPlane()
        self.now = 0
        config = BrokerConfig() if config is None else config
        self.control = Control(
            self.plane,
            config,
            run="run-1",
            version="1.0",
            clock=lambda: self.now,
            udp_port=udp_port,
            costs=SWIFT if costs is None else costs,
            store=store,
        )

    def client(self, conn: int, name: str | None = None) -> int:
        """A connected client; what it was told so far is forgotten."""
        self.plane.opens(conn)
        self.ask(conn, Connect(id=0, name=f"c{conn}" if name is None else name, version="1"))
        self.heard(conn)
        return conn

    def ask(self, conn: int, request: Request | bytes) -> list[Reply]:
        """What the client hears after a request."""
        body = request if isinstance(request, bytes) else encode(request)
        self.plane.happened.append(("control", conn, body))
        self.control.turn(0)
        return self.heard(conn)

    def heard(self, conn: int) -> list[Reply]:
        """What the client was told since it was last asked."""
        heard, self.plane.sent[conn] = self.plane.sent[conn], []
        return heard
