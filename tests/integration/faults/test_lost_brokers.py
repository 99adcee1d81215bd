"""A broker or a client that is killed: the other side notices, says so, and goes on when it can."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from raw import WATCHDOG_S, BrokerProcess

import giusto
from giusto.client.events import Lost, Matchedness, Restored
from giusto.errors import Closed, GiustoError, TimedOut, Unreachable

Kind = TypeVar("Kind")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Place:
    """A fixed address on which one broker after the other runs."""

    def __init__(self) -> None:
        self.listen = [f"tcp://127.0.0.1:{free_port()}"]
        self.broker = BrokerProcess(listen=self.listen)
        self.address = self.broker.address

    def kill(self) -> None:
        self.broker.signal(signal.SIGKILL)
        self.broker.wait()

    def revive(self) -> None:
        self.broker.__exit__()
        self.broker = BrokerProcess(listen=self.listen)
        assert self.broker.ready.startswith("ready "), "the port was taken meanwhile"


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.broker.__exit__()


def event(bus: giusto.Bus, kind: type[Kind], wanted: Callable[[Kind], bool] = lambda _: True) -> Kind:
    """The next event of a kind that is as wanted; others before it are passed over."""
    while True:
        found = bus.events.receive(timeout=WATCHDOG_S)
        if isinstance(found, kind) and wanted(found):
            return found


def test_everything_is_there_again_after_a_broker_was_killed(place: Place) -> None:
    with (
        giusto.connect(place.address, name="p", timeout=WATCHDOG_S) as publishing,
        giusto.connect(place.address, name="s", timeout=WATCHDOG_S) as subscribing,
    ):
        publisher = publishing.advertise("ward/alarm")
        inbox = subscribing.subscribe("ward/#", filter="level > 1")
        publisher.publish(b"before", attributes={"level": 2})
        assert inbox.receive(timeout=WATCHDOG_S).payload == b"before"
        run = subscribing.run
        place.kill()
        assert event(publishing, Lost).reason
        assert event(subscribing, Lost).reason
        place.revive()
        restored = event(subscribing, Restored)
        assert (restored.failed, restored.run != run) == ((), True)
        assert event(publishing, Restored).failed == ()
        assert [party.name for party in publishing.subscribers("ward/alarm")] == ["s"]
        assert [party.name for party in subscribing.publishers("ward/alarm")] == ["p"]
        publisher.publish(b"filtered", attributes={"level": 1}, timeout=WATCHDOG_S)
        publisher.publish(b"after", attributes={"level": 2}, timeout=WATCHDOG_S)
        assert inbox.receive(timeout=WATCHDOG_S).payload == b"after"


def test_a_publisher_does_not_wait_for_ever_for_a_dead_broker(place: Place) -> None:
    with giusto.connect(place.address, timeout="1s") as bus:
        publisher = bus.advertise("a", giusto.Offer(queue=4))
        place.kill()
        event(bus, Lost)
        with pytest.raises(Closed, match="not yet restored"):
            publisher.publish(b"x", timeout="100ms")
        assert not publisher.try_publish(b"x")


def test_every_wait_keeps_its_own_deadline_while_the_broker_is_away(place: Place) -> None:
    with giusto.connect(place.address, timeout="2s") as bus:
        inbox = bus.subscribe("a")
        place.kill()
        event(bus, Lost)
        with pytest.raises(TimedOut):
            inbox.receive(timeout="10ms")
        with pytest.raises(TimedOut):
            bus.events.receive(timeout="10ms")
        with pytest.raises(TimedOut, match="connection to be restored"):
            bus.publishers("a")
        place.revive()
        event(bus, Restored)
        assert bus.publishers("a") == []


def test_a_graceful_stop_is_a_loss_with_a_reason(place: Place) -> None:
    with giusto.connect(place.address, timeout=WATCHDOG_S) as bus:
        inbox = bus.subscribe("a")
        place.broker.signal(signal.SIGTERM)
        assert place.broker.wait() == 0
        assert event(bus, Lost).reason == "the broker is shutting down"
        place.revive()
        event(bus, Restored)
        publisher = bus.advertise("a")
        publisher.publish(b"on", timeout=WATCHDOG_S)
        assert inbox.receive(timeout=WATCHDOG_S).payload == b"on"


def test_nobody_there_is_said_at_once() -> None:
    with pytest.raises(Unreachable, match="giusto broker"):
        giusto.connect(f"giusto://127.0.0.1:{free_port()}", timeout=WATCHDOG_S)


def test_something_else_that_listens_is_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"giusto://127.0.0.1:{server.getsockname()[1]}"

        def greet() -> None:
            stream, _ = server.accept()
            stream.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            stream.recv(65_536)
            stream.close()

        other = threading.Thread(target=greet)
        other.start()
        with pytest.raises(GiustoError):
            giusto.connect(address, timeout=WATCHDOG_S)
        other.join(WATCHDOG_S)


PUBLISHER = """
import sys, giusto
bus = giusto.connect(sys.argv[1], name="victim")
publisher = bus.advertise("killed/topic")
while True:
    publisher.publish(b"alive")
"""


def test_a_killed_publisher_is_gone_for_its_subscribers(broker: BrokerProcess) -> None:
    with giusto.connect(broker.address, timeout=WATCHDOG_S) as bus:
        inbox = bus.subscribe("killed/+")
        victim = subprocess.Popen([sys.executable, "-c", PUBLISHER, broker.address])
        try:
            event(bus, Matchedness, lambda told: told.count == 1)
            assert inbox.receive(timeout=WATCHDOG_S).payload == b"alive"
            assert [party.name for party in bus.publishers("killed/topic")] == ["victim"]
        finally:
            victim.kill()
            victim.wait()
        event(bus, Matchedness, lambda told: told.count == 0)
        assert bus.publishers("killed/topic") == []
