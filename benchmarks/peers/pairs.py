"""What is measured with Python clients: two processes, and a broker between them if they need one."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.brokers import END_SECONDS, Broker, Missing, free_port, running
from benchmarks.peers.measures import RUN_SECONDS, Line

ROOT = Path(__file__).parents[2]
SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Pair:
    """A Python client; `broker` is the name of the broker that it needs, none if it goes peer to peer."""

    name: str
    client: str
    package: str
    module: str
    broker: str | None = None


PAIRS = [
    Pair("giusto, callback", "giusto:callback", "giusto", "giusto", "giusto"),
    Pair("giusto, for", "giusto:for", "giusto", "giusto", "giusto"),
    Pair("giusto, async for", "giusto:async", "giusto", "giusto", "giusto"),
    Pair("giusto, many at once", "giusto:many", "giusto", "giusto", "giusto"),
    Pair("zenoh, peer to peer", "zenoh", "eclipse-zenoh", "zenoh"),
    Pair("ZeroMQ, peer to peer", "zmq", "pyzmq", "zmq"),
    Pair("Cyclone DDS, peer to peer", "cyclonedds", "cyclonedds", "cyclonedds"),
    Pair("nats-py", "nats", "nats-py", "nats", "nats"),
    Pair("redis-py", "redis", "redis", "redis", "redis"),
    Pair("paho-mqtt", "paho", "paho-mqtt", "paho", "mosquitto"),
]


def find(brokers: list[Broker]) -> tuple[list[Pair], list[Missing]]:
    """The pairs whose client and broker are here, and the clients that are not."""
    here = {broker.name for broker in brokers}
    installed = {pair.name: importlib.util.find_spec(pair.module) is not None for pair in PAIRS}
    possible = [
        pair for pair in PAIRS if installed[pair.name] and (pair.broker is None or pair.broker in here)
    ]
    absent = [Missing(pair.name, f"pip install {pair.package}") for pair in PAIRS if not installed[pair.name]]
    return possible, absent


def run(pair: Pair, brokers: list[Broker]) -> Line:
    """One round of one pair."""
    try:
        with target(pair, brokers) as address, end_of(pair, "subscribe", address) as subscriber:
            assert subscriber.stdout is not None
            if subscriber.stdout.readline() != "ready\n":
                raise RuntimeError(last_words(subscriber))
            with end_of(pair, "publish", address) as publisher:
                sent = answer(publisher)["sent"]
                seen = answer(subscriber)
    except (RuntimeError, OSError) as error:
        return {"error": str(error)}
    lost = max(0.0, sent - seen["received"])
    return {"rate": seen["rate"], "sent": sent, "lost": lost, "lost_percent": 100 * lost / sent}


@contextmanager
def target(pair: Pair, brokers: list[Broker]) -> Iterator[str]:
    """Where the two meet: a fresh broker, or a free port."""
    if pair.broker is None:
        yield f"127.0.0.1:{free_port()}"
        return
    broker = next(broker for broker in brokers if broker.name == pair.broker)
    with running(broker) as place:
        yield place.address


@contextmanager
def end_of(pair: Pair, role: str, address: str) -> Iterator[subprocess.Popen[str]]:
    """One process of the pair, ended in any case."""
    command = [sys.executable, "-m", "benchmarks.peers.clients", role, pair.client, address, str(SECONDS)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def answer(process: subprocess.Popen[str]) -> dict[str, float]:
    """The line of figures that a process ends with."""
    try:
        said, complaints = process.communicate(timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no end after {RUN_SECONDS:g} s") from None
    if not said.strip():
        raise RuntimeError(complaints.strip().splitlines()[-1] if complaints.strip() else "no figures")
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


def last_words(process: subprocess.Popen[str]) -> str:
    """Why a process ended, as it says itself."""
    process.kill()
    complaints = process.communicate(timeout=END_SECONDS)[1].strip()
    return complaints.splitlines()[-1] if complaints else "the subscriber does not become ready"
