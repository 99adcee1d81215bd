"""What a control plane does with one body: a stranger's request beside a client that behaves."""

from __future__ import annotations

import logging

from giusto import _core, protocol
from giusto.broker import Control
from giusto.config import BrokerConfig
from giusto.protocol import AnyAnswer, AnyNotice, Request

logging.getLogger("giusto.broker").propagate = False


class Complaints(logging.Handler):
    """Turns what the control plane logs as its own mistake into a failure."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[BaseException | str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the exception, or the message without one."""
        error = record.exc_info[1] if record.exc_info else None
        self.seen.append(record.getMessage() if error is None else error)


COMPLAINTS = Complaints()
logging.getLogger("giusto.broker").addHandler(COMPLAINTS)


class World:
    """A control plane with two clients, each with a flow and a subscription, and one that has only come."""

    def __init__(self) -> None:
        self.now_ns = 1
        self.plane = _core.MemoryPlane(message_capacity=64, output_capacity=16)
        config = BrokerConfig(message_capacity=64, output_capacity=16)
        self.control = Control(self.plane, config, run="run", version="0", clock=lambda: self.now_ns)
        self.witness, self.stranger, self.newcomer = (self.open() for _ in range(3))
        for conn, name in ((self.witness, "witness"), (self.stranger, "stranger")):
            self.ask(conn, protocol.Connect(id=1, name=name, version="0"))
            self.ask(conn, protocol.Advertise(id=2, topic="a/b"))
            self.ask(conn, protocol.Subscribe(id=3, pattern="a/+"))

    def open(self) -> int:
        """A connection that has said hello."""
        conn = self.plane.open()
        self.plane.feed(self.now_ns, conn, _core.encode_hello())
        return conn

    def ask(self, conn: int, request: Request) -> list[AnyAnswer | AnyNotice]:
        """What the client is told after a request."""
        return self.send(conn, protocol.encode(request))

    def send(self, conn: int, body: bytes) -> list[AnyAnswer | AnyNotice]:
        """What the client is told after a control frame; must be what a client understands."""
        self.now_ns += 1
        self.plane.feed(self.now_ns, conn, _core.encode_control(body))
        while self.control.turn(0):
            pass
        if COMPLAINTS.seen:
            raise AssertionError(f"the control plane failed: {COMPLAINTS.seen.pop()!r}")
        decoder = _core.FrameDecoder()
        decoder.feed(self.plane.drain(self.now_ns, conn))
        return [protocol.decode_reply(frame.body) for frame in decoder if isinstance(frame, _core.Control)]


def consequences(world: World, body: bytes) -> list[object]:
    """What a stranger and one who has not connected yet are told; the others must be as well as before."""
    told = [*world.send(world.stranger, body), *world.send(world.newcomer, body)]
    world.control.report_losses()
    world.control.forget_vacant()
    answers = world.ask(world.witness, protocol.Status(id=9))
    assert any(isinstance(answer, protocol.StatusIs) for answer in answers), "the others are not answered"
    return list(told)
