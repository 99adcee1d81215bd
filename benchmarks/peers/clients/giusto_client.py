"""giusto through its broker, in each way in which a program can receive.

| variant | publisher | subscriber |
|---|---|---|
| `callback` | `publish` in a loop | a callback |
| `for` | `publish` in a loop | `for message in subscription` |
| `async` | `publish` in a loop | `async for message in subscription` |
| `many` | `publish_many` | `receive_many` |
"""

from __future__ import annotations

import asyncio
import threading

from benchmarks.peers.clients.meter import Meter
from benchmarks.peers.clients.pace import PAYLOAD, TOPIC, batches

import giusto

OFFER = giusto.Offer(max_size=len(PAYLOAD), queue=8192)


def publish(target: str, seconds: float, variant: str) -> int:
    sent = 0
    payloads = [PAYLOAD] * 100
    with giusto.connect(f"giusto://{target}") as bus:
        publisher = bus.advertise(TOPIC, OFFER)
        for batch in batches(seconds):
            if variant == "many":
                publisher.publish_many(payloads)
            else:
                for _ in batch:
                    publisher.publish(PAYLOAD)
            sent += len(batch)
    return sent


def subscribe(target: str, meter: Meter, variant: str) -> None:
    address = f"giusto://{target}"
    if variant == "async":
        asyncio.run(_iterate(address, meter))
        return
    with giusto.connect(address) as bus:
        if variant == "callback":
            _call_back(bus, meter)
        elif variant == "for":
            subscription = bus.subscribe(TOPIC)
            meter.ready()
            for message in subscription:
                meter.count += bool(message.payload)
        else:
            subscription = bus.subscribe(TOPIC)
            meter.ready()
            while True:
                for message in subscription.receive_many(1024):
                    meter.count += bool(message.payload)


def _call_back(bus: giusto.Bus, meter: Meter) -> None:
    def count(message: giusto.Message) -> None:
        meter.count += bool(message.payload)

    bus.subscribe(TOPIC, callback=count)
    meter.ready()
    threading.Event().wait()


async def _iterate(address: str, meter: Meter) -> None:
    async with giusto.aio.connect(address) as bus:
        subscription = await bus.subscribe(TOPIC)
        meter.ready()
        async for message in subscription:
            meter.count += bool(message.payload)
