"""NATS with nats-py."""

from __future__ import annotations

import asyncio

import nats
from benchmarks.peers.clients.meter import Meter
from benchmarks.peers.clients.pace import PAYLOAD, TOPIC, batches


def publish(target: str, seconds: float) -> int:
    return asyncio.run(_publish(target, seconds))


async def _publish(target: str, seconds: float) -> int:
    sent = 0
    client = await nats.connect(f"nats://{target}")
    for batch in batches(seconds):
        for _ in batch:
            await client.publish(TOPIC, PAYLOAD)
        sent += len(batch)
    await client.drain()
    return sent


def subscribe(target: str, meter: Meter) -> None:
    asyncio.run(_subscribe(target, meter))


async def _subscribe(target: str, meter: Meter) -> None:
    async def count(_: object) -> None:
        meter.count += 1

    client = await nats.connect(f"nats://{target}")
    await client.subscribe(TOPIC, cb=count)
    await client.flush()
    meter.ready()
    await asyncio.Event().wait()
