"""Publish and subscribe with asyncio: the names of the blocking bus, with `await` and `async for`.

Needs a broker: `giusto broker`.
"""

import asyncio

import giusto
from giusto import aio

BEDS = 3


async def watch(bus: aio.Bus, ready: asyncio.Event) -> None:
    """Print alarms until each bed has sent one."""
    async with await bus.subscribe("beds/+/alarm", giusto.Need(max_latency="5ms")) as alarms:
        ready.set()
        left = BEDS
        async for message in alarms:
            print(f"{message.topic}: {message.payload.decode()}")
            left -= 1
            if left == 0:
                return


async def main() -> None:
    async with aio.connect() as bus, asyncio.timeout(30):
        ready = asyncio.Event()
        watching = asyncio.create_task(watch(bus, ready))
        await ready.wait()
        for bed in range(BEDS):
            offer = giusto.Offer(min_sep="100ms", max_size=256)
            async with await bus.advertise(f"beds/{bed}/alarm", offer) as alarm:
                await alarm.publish(b"SpO2 low")
        await watching


asyncio.run(main())
