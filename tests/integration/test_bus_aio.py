"""The asyncio face against a broker in a process of its own, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from raw import WATCHDOG_S, BrokerProcess, require_alive

import giusto
from giusto import Offer
from giusto.errors import QueueFull, RequestFailed


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    """One broker for all tests; each uses topics of its own."""
    with BrokerProcess() as process:
        yield process
        require_alive(process.process)


def run(broker: BrokerProcess, test: Callable[[giusto.aio.Bus], Awaitable[None]]) -> None:
    """Run a test with a client in a loop of its own."""

    async def main() -> None:
        async with giusto.aio.connect(broker.address) as bus:
            await asyncio.wait_for(test(bus), WATCHDOG_S)

    asyncio.run(main())


def test_async_for_gives_the_messages_in_order(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        subscription = await bus.subscribe("order")
        publisher = await bus.advertise("order", Offer(queue=64))

        async def publish() -> None:
            for number in range(5_000):
                await publisher.publish(b"%d" % number)

        task = asyncio.create_task(publish())
        received: list[int] = []
        async for message in subscription:
            received.append(int(message.payload))
            if len(received) == 5_000:
                break
        await task
        assert received == list(range(5_000))

    run(broker, test)


def test_a_loop_that_is_left_early_loses_nothing(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        subscription = await bus.subscribe("early")
        publisher = await bus.advertise("early")
        await publisher.publish_many([b"%d" % number for number in range(10)])
        while subscription.available() < 10:
            await bus.status()
        async for message in subscription:
            assert message.payload == b"0"
            break
        assert subscription.available() == 9
        assert (await subscription.receive(WATCHDOG_S)).payload == b"1"
        assert [message.payload for message in await subscription.receive_many(2)] == [b"2", b"3"]
        async for message in subscription:
            assert message.payload == b"4"
            break
        assert subscription.purge() == 5
        assert await subscription.receive_many(timeout="1ms") == []

    run(broker, test)


def test_a_timeout_is_an_exception(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        subscription = await bus.subscribe("silence")
        with pytest.raises(giusto.TimedOut):
            await subscription.receive("1ms")
        with pytest.raises(giusto.TimedOut):
            await bus.events.receive("1ms")

    run(broker, test)


def test_callbacks_are_called_or_awaited(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        called: asyncio.Queue[bytes] = asyncio.Queue()
        awaited: asyncio.Queue[bytes] = asyncio.Queue()

        async def take(message: giusto.Message) -> None:
            await asyncio.sleep(0)
            await awaited.put(message.payload)

        await bus.subscribe("callbacks", callback=lambda message: called.put_nowait(message.payload))
        await bus.subscribe("callbacks", callback=take)
        publisher = await bus.advertise("callbacks")
        await publisher.publish_many([b"1", b"2"])
        assert [await called.get(), await called.get()] == [b"1", b"2"]
        assert [await awaited.get(), await awaited.get()] == [b"1", b"2"]

    run(broker, test)


def test_requests_are_answered_concurrently(broker: BrokerProcess) -> None:
    async def double(message: giusto.Message) -> bytes:
        await asyncio.sleep(0)
        if not message.payload:
            raise ValueError("nothing to double")
        return message.payload * 2

    async def test(bus: giusto.aio.Bus) -> None:
        async with giusto.aio.connect(broker.address) as server:
            await server.serve("double", double)
            replies = await asyncio.gather(*(bus.request("double", b"%d" % i) for i in range(20)))
            assert [reply.payload for reply in replies] == [b"%d" % i * 2 for i in range(20)]
            with pytest.raises(RequestFailed, match="nothing to double"):
                await bus.request("double", b"")

    run(broker, test)


def test_who_publishes_under_contract_asks_and_answers_over_a_second_connection(
    broker: BrokerProcess,
) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        await bus.subscribe("alarm", giusto.Need(max_latency="50ms"))
        await bus.subscribe("_reply/judge", giusto.Need(max_latency="50ms"))
        async with giusto.aio.connect(broker.address, name="monitor") as monitor:
            await monitor.advertise("alarm", giusto.Offer(min_sep="10ms", max_size=256))
            await monitor.serve("double", lambda message: message.payload * 2)
            assert (await bus.request("double", b"ab")).payload == b"abab"
            assert (await monitor.request("double", b"cd")).payload == b"cdcd"
            assert "monitor~" in {client.name for client in (await bus.status()).clients}
            async with giusto.aio.connect(broker.address, name="judge") as judge:
                with pytest.raises(RequestFailed, match="on _reply/judge without a limit"):
                    await judge.request("double", b"ef")

    run(broker, test)


def test_who_has_asked_and_answered_before_can_publish_under_contract(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        await bus.subscribe("alarm", giusto.Need(max_latency="50ms"))
        async with giusto.aio.connect(broker.address, name="early") as early:
            await early.serve("double", lambda message: message.payload * 2)
            assert (await early.request("double", b"ab")).payload == b"abab"
            await early.advertise("alarm", giusto.Offer(min_sep="10ms", max_size=256))
            assert (await early.request("double", b"cd")).payload == b"cdcd"
            assert [party.name for party in await bus.publishers("double")] == ["early~"]

    run(broker, test)


def test_publishing_waits_for_credit_and_can_be_told_not_to(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        publisher = await bus.advertise("credit", Offer(queue=2))

        async def flood() -> None:
            while True:
                await publisher.publish(b"", timeout=0)

        with pytest.raises(QueueFull):
            await flood()
        await publisher.publish(b"waits", timeout=WATCHDOG_S)

    run(broker, test)


def test_an_iteration_ends_with_its_subscription(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        subscription = await bus.subscribe("ended")

        async def count() -> int:
            return len([message async for message in subscription])

        task = asyncio.create_task(count())
        await asyncio.sleep(0)
        await subscription.unsubscribe()
        assert await task == 0

    run(broker, test)


def test_an_iteration_ends_when_the_bus_is_closed(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        other = await giusto.aio.connect(broker.address)
        subscription = await other.subscribe("closing")

        async def count() -> int:
            return len([message async for message in subscription])

        task = asyncio.create_task(count())
        await asyncio.sleep(0)
        await other.close()
        assert await task == 0
        with pytest.raises(giusto.Closed, match="the bus was closed"):
            await subscription.receive()

    run(broker, test)


def test_a_cancelled_receive_leaves_the_bus_in_order(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        subscription = await bus.subscribe("cancel")
        task = asyncio.create_task(subscription.receive())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        publisher = await bus.advertise("cancel")
        await publisher.publish(b"still works")
        assert (await subscription.receive()).payload == b"still works"

    run(broker, test)


def test_both_faces_have_the_same_names() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    blocking = {"wait"}  # of the native part
    assert names(giusto.Bus) == names(giusto.aio.Bus)
    assert names(giusto.Publisher) == names(giusto.aio.Publisher)
    assert names(giusto.Subscription) - blocking == names(giusto.aio.Subscription)
