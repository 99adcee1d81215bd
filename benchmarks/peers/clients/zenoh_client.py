"""Zenoh, peer to peer over TCP: its router is not on PyPI. Messages that find a full queue wait."""

from __future__ import annotations

import json
import threading
import time

import zenoh
from benchmarks.peers.clients.meter import Meter
from benchmarks.peers.clients.pace import PAYLOAD, TOPIC, batches


def session(**settings: object) -> zenoh.Session:
    config = zenoh.Config()
    config.insert_json5("scouting/multicast/enabled", "false")
    for path, value in settings.items():
        config.insert_json5(path.replace("_", "/"), json.dumps(value))
    return zenoh.open(config)


def publish(target: str, seconds: float) -> int:
    sent = 0
    with session(connect_endpoints=[f"tcp/{target}"]) as bus:
        publisher = bus.declare_publisher(TOPIC, congestion_control=zenoh.CongestionControl.BLOCK)
        while not publisher.matching_status.matching:
            time.sleep(0.01)
        for batch in batches(seconds):
            for _ in batch:
                publisher.put(PAYLOAD)
            sent += len(batch)
    return sent


def subscribe(target: str, meter: Meter) -> None:
    def count(sample: zenoh.Sample) -> None:
        sample.payload.to_bytes()
        meter.count += 1

    with session(listen_endpoints=[f"tcp/{target}"]) as bus, bus.declare_subscriber(TOPIC, count):
        meter.ready()
        threading.Event().wait()
