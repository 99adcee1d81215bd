"""The control plane on the data plane in memory: real frames, no socket, no clock but the test's."""

from __future__ import annotations

from typing import Any

from giusto import _core
from giusto.broker import Control
from giusto.config import BrokerConfig
from giusto.protocol import (
    Advertise,
    Advertised,
    Connect,
    Connected,
    Request,
    SourceIs,
    Subscribe,
    Subscribed,
    TopicIs,
    decode_reply,
    encode,
)


class Hall:
    """A broker in memory."""

    def __init__(self) -> None:
        self.now = 0
        self.plane = _core.MemoryPlane()
        self.control = Control(self.plane, BrokerConfig(), run="r", version="1", clock=lambda: self.now)

    def enter(self, name: str) -> int:
        conn = self.plane.open()
        self.plane.feed(self.now, conn, _core.encode_hello())
        hello, connected = self.ask(conn, Connect(id=1, name=name, version="1"))
        assert isinstance(hello, _core.Hello)
        assert isinstance(connected, Connected)
        return conn

    def ask(self, conn: int, request: Request) -> list[Any]:
        self.plane.feed(self.now, conn, _core.encode_control(encode(request)))
        self.control.turn(0)
        return self.heard(conn)

    def heard(self, conn: int) -> list[Any]:
        while self.plane.step(self.now):
            self.now += 1_000
        decoder = _core.FrameDecoder()
        decoder.feed(self.plane.drain(self.now, conn))
        return [decode_reply(each.body) if isinstance(each, _core.Control) else each for each in decoder]


def test_a_message_arrives_after_the_names_that_it_needs() -> None:
    hall = Hall()
    nurse, monitor = hall.enter("nurse"), hall.enter("monitor")
    (subscribed,) = hall.ask(nurse, Subscribe(id=2, pattern="ward/+"))
    assert isinstance(subscribed, Subscribed)
    (advertised,) = hall.ask(monitor, Advertise(id=2, topic="ward/3"))
    assert isinstance(advertised, Advertised)
    frame = _core.encode_data(b"SpO2 low", stream=advertised.flow, sequence=0, t_sent_ns=hall.now)
    hall.plane.feed(hall.now, monitor, frame)
    topic, source, _, data = hall.heard(nurse)
    assert topic == TopicIs(data.stream, "ward/3")
    assert source == SourceIs(data.source, "monitor")
    assert data.payload == b"SpO2 low"


def test_who_hangs_up_is_gone() -> None:
    hall = Hall()
    conn = hall.enter("nurse")
    hall.plane.hang_up(hall.now, conn)
    hall.control.turn(0)
    assert hall.control.registry.clients == {}
    hall.enter("nurse")
