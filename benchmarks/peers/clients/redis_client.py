"""Redis with redis-py: publications in pipelines, which is what its documents say for speed."""

from __future__ import annotations

import redis
from benchmarks.peers.clients.meter import Meter
from benchmarks.peers.clients.pace import PAYLOAD, TOPIC, batches


def connect(target: str) -> redis.Redis:
    host, _, port = target.rpartition(":")
    return redis.Redis(host=host, port=int(port))


def publish(target: str, seconds: float) -> int:
    sent = 0
    client = connect(target)
    for batch in batches(seconds):
        pipeline = client.pipeline(transaction=False)
        for _ in batch:
            pipeline.publish(TOPIC, PAYLOAD)
        pipeline.execute()
        sent += len(batch)
    return sent


def subscribe(target: str, meter: Meter) -> None:
    messages = connect(target).pubsub(ignore_subscribe_messages=True)
    messages.subscribe(TOPIC)
    messages.get_message(timeout=5)  # the confirmation
    meter.ready()
    for _ in messages.listen():
        meter.count += 1
