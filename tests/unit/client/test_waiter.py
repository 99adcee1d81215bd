"""Who waits on the asyncio face, without a connection."""

from __future__ import annotations

import asyncio

import pytest

from giusto.client.aio.waiter import Waiters


def test_everybody_is_woken_in_the_order_of_waiting() -> None:
    async def main() -> None:
        waiters, woken = Waiters(), list[int]()

        async def wait(number: int) -> None:
            await waiters.wait()
            woken.append(number)

        tasks = [asyncio.create_task(wait(number)) for number in range(5)]
        await asyncio.sleep(0)
        assert len(waiters) == 5
        waiters.wake()
        await asyncio.gather(*tasks)
        assert (woken, len(waiters)) == ([0, 1, 2, 3, 4], 0)

    asyncio.run(main())


def test_who_gives_up_is_forgotten() -> None:
    async def main() -> None:
        waiters = Waiters()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiters.wait(), 0.001)
        assert len(waiters) == 0

    asyncio.run(main())


def test_who_is_cancelled_while_being_woken_is_forgotten() -> None:
    async def main() -> None:
        waiters = Waiters()
        task = asyncio.create_task(waiters.wait())
        await asyncio.sleep(0)
        task.cancel()
        waiters.wake()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(waiters) == 0

    asyncio.run(main())
