"""Waiting on the asyncio face: tasks that share something, give up, or outlive it; and the loop goes on."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from raw import WATCHDOG_S, BrokerProcess

import giusto
from giusto import Offer
from giusto.broker import Broker
from giusto.client import Restored
from giusto.config import BrokerConfig, Limits
from giusto.errors import Closed, QueueFull, TimedOut

COUNT = 4_096
BIG = bytes(900_000)


@contextmanager
def stopped(broker: BrokerProcess) -> Iterator[None]:
    """A broker that neither reads nor writes; the watchdog is for a loop that it stops too."""
    watchdog = threading.Timer(WATCHDOG_S, broker.signal, [signal.SIGCONT])
    broker.signal(signal.SIGSTOP)
    watchdog.start()
    try:
        yield
    finally:
        broker.signal(signal.SIGCONT)
        watchdog.cancel()


@asynccontextmanager
async def filled(broker: BrokerProcess, topic: str) -> AsyncIterator[giusto.aio.Subscription]:
    """A subscription with numbered messages to which none will be added: iterations over it end."""
    async with giusto.aio.connect(broker.address) as bus:
        subscription = await bus.subscribe(topic)
        publisher = await bus.advertise(topic)
        await publisher.publish_many([b"%d" % number for number in range(COUNT)])
        while subscription.available() < COUNT:
            await bus.status()
    yield subscription


async def numbers(subscription: giusto.aio.Subscription, most: int = COUNT) -> list[int]:
    """What a task gets that lets others have a turn after each message."""
    received: list[int] = []
    async for message in subscription:
        received.append(int(message.payload))
        if len(received) == most:
            break
        await asyncio.sleep(0)
    return received


def test_tasks_that_share_a_subscription_get_each_message_once(broker: BrokerProcess) -> None:
    async def main() -> None:
        async with filled(broker, "shared") as subscription:
            shares = await asyncio.gather(*(numbers(subscription) for _ in range(3)))
        assert sorted(number for share in shares for number in share) == list(range(COUNT))
        assert all(share == sorted(share) for share in shares)

    asyncio.run(main())


def test_a_task_that_leaves_early_leaves_the_rest_to_the_others(broker: BrokerProcess) -> None:
    async def main() -> None:
        async with filled(broker, "left") as subscription:
            few, many = await asyncio.gather(numbers(subscription, most=300), numbers(subscription))
        assert (len(few), sorted(few + many)) == (300, list(range(COUNT)))

    asyncio.run(main())


def test_what_is_purged_reaches_no_iteration(broker: BrokerProcess) -> None:
    async def main() -> None:
        async with filled(broker, "purged") as subscription:
            iteration = aiter(subscription)
            assert (await anext(iteration)).payload == b"0"
            assert subscription.purge() == COUNT - 1
            assert [message async for message in iteration] == []

    asyncio.run(main())


def test_publishing_more_than_leaves_does_not_stop_the_loop(broker: BrokerProcess) -> None:
    async def main() -> None:
        async with giusto.aio.connect(broker.address) as bus:
            publisher = await bus.advertise("big", Offer(queue=1_000, max_size=len(BIG)))

            async def publish() -> None:
                for _ in range(20):
                    await publisher.publish(BIG)
                await publisher.publish_many([BIG] * 20)

            with stopped(broker):
                publishing = asyncio.create_task(publish())
                done, _ = await asyncio.wait([publishing], timeout=0.1)
                assert not done
                assert publisher.credit > 0
            await asyncio.wait_for(publishing, WATCHDOG_S)
            assert publisher.published == 40

    asyncio.run(main())


def test_publishing_more_than_leaves_can_be_told_not_to_wait(broker: BrokerProcess) -> None:
    async def main() -> None:
        async with giusto.aio.connect(broker.address) as bus:
            publisher = await bus.advertise("bigger", Offer(queue=1_000, max_size=len(BIG)))

            async def flood(timeout: int | str) -> None:
                while True:
                    await publisher.publish(BIG, timeout=timeout)

            with stopped(broker):
                with pytest.raises(QueueFull):
                    await flood(0)
                assert publisher.credit > 0
                with pytest.raises(TimedOut):
                    await flood("1ms")

    asyncio.run(main())


def test_closing_does_not_stop_the_loop(broker: BrokerProcess) -> None:
    async def main() -> None:
        bus = await giusto.aio.connect(broker.address)
        publisher = await bus.advertise("goodbye")
        turns = 0
        with stopped(broker):
            closing = asyncio.create_task(bus.close())
            while not closing.done():
                await asyncio.sleep(0)
                turns += not closing.done() and has_ended(publisher)
        assert turns > 0

    def has_ended(publisher: giusto.aio.Publisher) -> bool:
        try:
            return not publisher.try_publish(b"")
        except Closed:
            return True

    asyncio.run(main())


def test_who_gives_up_waiting_leaves_nothing_behind(broker: BrokerProcess) -> None:
    async def main() -> None:
        async with giusto.aio.connect(broker.address) as bus:
            subscription = await bus.subscribe("quiet")
            for _ in range(10):
                with pytest.raises(TimedOut):
                    await subscription.receive("1ms")
                with pytest.raises(TimedOut):
                    await bus.events.receive("1ms")
                task = asyncio.create_task(subscription.receive())
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
            assert (len(subscription._waiters), len(bus._waiters)) == (0, 0)

    asyncio.run(main())


def test_who_waits_for_what_could_not_be_restored_is_told() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        listen = (f"tcp://127.0.0.1:{found.getsockname()[1]}",)

    async def main() -> None:
        first = BrokerProcess(listen=listen)
        async with giusto.aio.connect(first.address) as bus:
            with first:
                kept, lost = await bus.subscribe("kept"), await bus.subscribe("lost")
                await bus.advertise("kept")
                publisher = await bus.advertise("lost")
                iterating = asyncio.create_task(numbers(lost))
                receiving = asyncio.create_task(lost.receive())
                await asyncio.sleep(0)
            while publisher.flow is not None:
                await bus.events.receive(WATCHDOG_S)
            publishing = asyncio.ensure_future(publisher.publish(b"never"))
            with Broker(BrokerConfig(listen=listen, limits=Limits(topics=1, subscriptions=1))):
                await asyncio.wait([iterating, receiving, publishing], timeout=WATCHDOG_S)
                while not isinstance(event := await bus.events.receive(WATCHDOG_S), Restored):
                    pass
                assert [text.split(" (")[0] for text in event.failed] == ["lost", "lost"]
                assert iterating.result() == []
                assert isinstance(receiving.exception(), Closed)
                assert isinstance(publishing.exception(), Closed)
                with pytest.raises(Closed):
                    await lost.receive()
                assert [party.name for party in await bus.subscribers("kept")] == [bus.name]
                assert kept.available() == 0

    asyncio.run(main())


def test_who_waits_to_publish_is_told_of_the_end(broker: BrokerProcess) -> None:
    async def main() -> None:
        async with giusto.aio.connect(broker.address) as bus:
            publisher = await bus.advertise("ended", Offer(queue=1))
            with stopped(broker):
                await publisher.publish(b"takes the credit")
                publishing = asyncio.ensure_future(publisher.publish(b"waits"))
                await asyncio.sleep(0)
                publisher._close()
                with pytest.raises(Closed):
                    await asyncio.wait_for(publishing, WATCHDOG_S)

    asyncio.run(main())


def test_a_refused_subscription_with_a_callback_leaves_no_task() -> None:
    async def main(address: str) -> None:
        async def take(message: giusto.Message) -> None:
            raise AssertionError(message)

        async with giusto.aio.connect(address) as bus:
            await bus.subscribe("allowed")
            with pytest.raises(giusto.GiustoError):
                await bus.subscribe("refused", callback=take)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    with Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",), limits=Limits(subscriptions=1))) as broker:
        asyncio.run(main(broker.address))
