"""Mosquitto with paho-mqtt at quality of service 0."""

from __future__ import annotations

from benchmarks.peers.clients.meter import Meter
from benchmarks.peers.clients.pace import PAYLOAD, TOPIC, batches
from paho.mqtt import client as mqtt

# What may wait in the client before the publisher waits for it.
WINDOW = 1000


def connect(target: str) -> mqtt.Client:
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    host, _, port = target.rpartition(":")
    client.connect(host, int(port))
    return client


def publish(target: str, seconds: float) -> int:
    sent = 0
    client = connect(target)
    client.loop_start()
    for batch in batches(seconds):
        for _ in batch:
            last = client.publish(TOPIC, PAYLOAD)
        sent += len(batch)
        if sent % WINDOW == 0:
            last.wait_for_publish()
    last.wait_for_publish()
    client.disconnect()
    client.loop_stop()
    return sent


def subscribe(target: str, meter: Meter) -> None:
    def count(*_: object) -> None:
        meter.count += 1

    client = connect(target)
    client.on_message = count
    client.on_subscribe = lambda *_: meter.ready()
    client.subscribe(TOPIC)
    client.loop_forever()
