"""What a client does when its broker goes away: it says so, comes back, and has all that it had."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from typing import TypeVar

import pytest
from raw import WATCHDOG_S, BrokerProcess

import giusto
from giusto.client import Lost, Restored

_Kind = TypeVar("_Kind")


def free_port() -> int:
    """A port that a broker can come back on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def listening_on(port: int) -> BrokerProcess:
    return BrokerProcess(listen=[f"tcp://127.0.0.1:{port}"])


def until(bus: giusto.Bus, kind: type[_Kind]) -> _Kind:
    """The next event of a kind."""
    while True:
        event = bus.events.receive(WATCHDOG_S)
        if isinstance(event, kind):
            return event


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_publishers_and_subscriptions_are_restored(how: int) -> None:
    port = free_port()
    broker = listening_on(port)
    with broker, giusto.connect(broker.address, name="steady") as bus:
        subscription = bus.subscribe("a/+")
        publisher = bus.advertise("a/1")
        publisher.publish(b"before")
        assert subscription.receive(WATCHDOG_S).payload == b"before"
        run = bus.run
        broker.signal(how)
        broker.wait()
        with listening_on(port):
            publisher.publish(b"after", timeout=WATCHDOG_S)
            assert subscription.receive(WATCHDOG_S).payload == b"after"
            assert until(bus, Lost).unsent == 0
            restored = until(bus, Restored)
            assert restored.after_ns > 0
            assert restored.failed == ()
            assert bus.run == restored.run != run


def test_a_thread_that_waits_brings_the_connection_back() -> None:
    port = free_port()
    broker = listening_on(port)
    with broker, giusto.connect(broker.address) as bus:
        subscription = bus.subscribe("a")
        received: list[bytes] = []
        thread = threading.Thread(target=lambda: received.append(subscription.receive(WATCHDOG_S).payload))
        thread.start()
        broker.signal(signal.SIGKILL)
        broker.wait()
        with listening_on(port) as again, giusto.connect(again.address) as other:
            publisher = other.advertise("a")
            while publisher.matched == 0:
                other.events.receive(WATCHDOG_S)
            publisher.publish(b"to the one who waited")
            thread.join(WATCHDOG_S)
        assert received == [b"to the one who waited"]


def test_without_reconnect_everything_is_closed() -> None:
    with BrokerProcess() as broker, giusto.connect(broker.address, reconnect=False) as bus:
        publisher, subscription = bus.advertise("a"), bus.subscribe("a")
        publisher.publish(b"last")
        assert subscription.receive(WATCHDOG_S).payload == b"last"
        broker.signal(signal.SIGKILL)
        broker.wait()
        with pytest.raises(giusto.Closed, match="connection lost"):
            subscription.receive(WATCHDOG_S)
        with pytest.raises(giusto.Closed, match="connection lost"):
            publisher.publish(b"")
        with pytest.raises(giusto.Closed, match="connection lost"):
            bus.status()


def test_a_bus_can_be_closed_while_its_broker_is_away() -> None:
    with BrokerProcess() as broker:
        bus = giusto.connect(broker.address)
        subscription = bus.subscribe("a", on_drop=print)
        broker.signal(signal.SIGKILL)
        broker.wait()
        assert until(bus, Lost).reason
        closer = threading.Timer(0.2, bus.close)
        closer.start()
        with pytest.raises(giusto.Closed):
            subscription.receive(WATCHDOG_S)
        closer.join(WATCHDOG_S)


def test_the_asyncio_face_restores_in_the_background() -> None:
    port = free_port()

    async def main() -> None:
        broker = listening_on(port)
        async with giusto.aio.connect(broker.address) as bus:
            subscription = await bus.subscribe("a/+")
            publisher = await bus.advertise("a/1")
            with broker:
                await publisher.publish(b"before")
                assert (await subscription.receive(WATCHDOG_S)).payload == b"before"
            while not isinstance(await bus.events.receive(WATCHDOG_S), Lost):
                pass
            with listening_on(port):
                await publisher.publish(b"after", timeout=WATCHDOG_S)
                assert (await subscription.receive(WATCHDOG_S)).payload == b"after"
                kinds = [type(await bus.events.receive(WATCHDOG_S)) for _ in range(bus.events.available())]
                assert Restored in kinds

    asyncio.run(main())


def test_the_asyncio_face_without_reconnect_is_closed() -> None:
    async def main() -> None:
        with BrokerProcess() as broker:
            async with giusto.aio.connect(broker.address, reconnect=False) as bus:
                subscription = await bus.subscribe("a")
                broker.signal(signal.SIGKILL)
                broker.wait()
                with pytest.raises(giusto.Closed, match="connection lost"):
                    await subscription.receive(WATCHDOG_S)
                with pytest.raises(giusto.Closed, match="connection lost"):
                    async for _ in subscription:
                        pass

    asyncio.run(main())
