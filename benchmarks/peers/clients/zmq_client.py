"""ZeroMQ, peer to peer over TCP. Messages that find a full queue wait."""

from __future__ import annotations

import zmq
from benchmarks.peers.clients.meter import Meter
from benchmarks.peers.clients.pace import PAYLOAD, TOPIC, batches


def publish(target: str, seconds: float) -> int:
    sent = 0
    with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
        socket.set(zmq.XPUB_NODROP, 1)
        socket.connect(f"tcp://{target}")
        socket.recv()  # the subscription
        message = TOPIC.encode() + PAYLOAD  # subscriptions are prefixes; two parts would be four times slower
        for batch in batches(seconds):
            for _ in batch:
                socket.send(message)
            sent += len(batch)
    return sent


def subscribe(target: str, meter: Meter) -> None:
    with zmq.Context() as context, context.socket(zmq.SUB) as socket:
        socket.subscribe(TOPIC)
        socket.bind(f"tcp://{target}")
        meter.ready()
        while True:
            socket.recv()
            meter.count += 1
