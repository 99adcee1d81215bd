"""A program that ends without closing its bus ends well, whatever the threads of the bus are doing then."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from raw import WATCHDOG_S, BrokerProcess

import giusto

RUNS = 15
CAME = """
import sys, threading, time
import giusto
came = threading.Event()
bus = giusto.connect(sys.argv[1])
"""
PROGRAMS = {
    "callback": "bus.subscribe('t', callback=lambda message: came.set())",
    "handler": "bus.advertise('u', on_matched=lambda event: came.set()); bus.subscribe('u')",
    "slow callback": "bus.subscribe('t', callback=lambda message: (came.set(), time.sleep(0.003)))",
    "own thread": """
sub = bus.subscribe('t')
def receive():
    for message in sub:
        came.set()
threading.Thread(target=receive, daemon=True).start()
""",
    "many buses": """
buses = [giusto.connect(sys.argv[1]) for _ in range(5)]
for one in buses:
    one.subscribe('t', callback=lambda message: None)
bus.subscribe('t', callback=lambda message: came.set())
""",
}


@pytest.fixture(scope="module")
def stream(broker: BrokerProcess) -> Iterator[str]:
    """A topic that somebody publishes on all the time; the broker's address."""
    over = threading.Event()

    def publish() -> None:
        with giusto.connect(broker.address) as bus, bus.advertise("t") as publisher:
            while not over.wait(0.0005):
                publisher.publish(b"x")

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield broker.address
    finally:
        over.set()
        thread.join(WATCHDOG_S)


def run(program: str, address: str) -> tuple[int, str]:
    command = [sys.executable, "-c", program, address]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_program_that_leaves_its_bus_open_while_messages_come_ends_well(what: str, stream: str) -> None:
    program = CAME + PROGRAMS[what] + f"\nassert came.wait({WATCHDOG_S})\n"
    assert [run(program, stream) for _ in range(RUNS)] == [(0, "")] * RUNS


def test_a_program_of_asyncio_that_leaves_its_bus_open_ends_well(stream: str) -> None:
    program = """
import asyncio, sys
import giusto.aio
async def main():
    global bus
    bus = await giusto.aio.connect(sys.argv[1])
    came = asyncio.Event()
    await bus.subscribe('t', callback=lambda message: came.set())
    await came.wait()
asyncio.run(main())
"""
    assert [run(program, stream) for _ in range(RUNS)] == [(0, "")] * RUNS


def test_a_program_that_ends_while_its_broker_is_away_ends_well() -> None:
    program = """
import sys
import giusto
bus = giusto.connect(sys.argv[1])
bus.subscribe('t', callback=print)
print('ready', flush=True)
next(event for event in bus.events if isinstance(event, giusto.client.Lost))
"""
    with BrokerProcess() as broker:
        command = [sys.executable, "-c", program, broker.address]
        ended = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(5)
        ]
        for one in ended:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
    assert [(one.communicate(timeout=WATCHDOG_S), one.returncode) for one in ended] == [(("", ""), 0)] * 5
