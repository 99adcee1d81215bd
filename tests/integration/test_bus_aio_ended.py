"""What the asyncio face leaves behind when something is ended or given up: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from raw import WATCHDOG_S, BrokerProcess

import giusto
import giusto.aio


def run(broker: BrokerProcess, test: Callable[[giusto.aio.Bus], Awaitable[None]]) -> None:
    """Run a test in a loop of its own."""

    async def main() -> None:
        async with asyncio.timeout(WATCHDOG_S), giusto.aio.connect(broker.address) as bus:
            await test(bus)

    asyncio.run(main())


def test_unadvertising_under_a_publishing_task_ends_that_task_and_nothing_else(broker: BrokerProcess) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        publisher = await bus.advertise("busy")
        begun = asyncio.Event()

        async def publish() -> None:
            while True:
                await publisher.publish_many([b"x" * 100] * 50)
                begun.set()
                await asyncio.sleep(0)

        task = asyncio.create_task(publish())
        await begun.wait()
        await publisher.unadvertise()
        with pytest.raises(giusto.Closed, match="unadvertise"):
            await task
        assert (await bus.status()).run == bus.run
        assert not [event for event in bus._events._waiting if isinstance(event, giusto.Lost)]

    run(broker, test)


@pytest.mark.parametrize("call", [giusto.aio.Bus.advertise, giusto.aio.Bus.subscribe])
def test_what_was_asked_for_before_a_cancellation_can_be_asked_for_again(
    broker: BrokerProcess, call: Callable[[giusto.aio.Bus, str], Awaitable[object]]
) -> None:
    async def test(bus: giusto.aio.Bus) -> None:
        topic = f"given up/{call.__name__}"
        asking = asyncio.ensure_future(call(bus, topic))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        # The answer to this one comes behind the one that nobody waited for.
        await bus.status()
        assert await bus.publishers(topic) + await bus.subscribers(topic) == []
        await call(bus, topic)
        assert len(await bus.publishers(topic) + await bus.subscribers(topic)) == 1

    run(broker, test)
