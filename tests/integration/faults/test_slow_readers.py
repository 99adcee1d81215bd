"""A subscriber that does not read: others are served, and each message that it misses is counted and told."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from bystanders import Bystanders
from raw import BrokerProcess, RawClient
from watch import eventually, rss_bytes

from giusto import _core
from giusto.protocol import (
    Advertise,
    Advertised,
    Dropped,
    Status,
    StatusIs,
    Subscribe,
    Subscribed,
    TopicStatus,
    decode_reply,
)

MB = 1_000_000
# Together far more than the sockets' buffers and the queue hold.
MESSAGES = 400
SIZE_BYTES = 100_000
CAPACITY = 32


def publish_all(publisher: RawClient, flow: int) -> None:
    """Numbered messages, never more at a time than the flow has credit for."""
    for first in range(0, MESSAGES, 20):
        numbers = range(first, first + 20)
        publisher.publish(flow, *(b"%08d" % number + bytes(SIZE_BYTES - 8) for number in numbers))
        publisher.ask(StatusIs, Status(id=1))


def hear(client: RawClient) -> Iterator[int | Dropped | _core.Failure]:
    """The number of each message, each notice of lost ones, and the last frame."""
    while (frame := client.frame()) is not None:
        if isinstance(frame, _core.Data):
            yield int(frame.payload[:8])
        elif isinstance(frame, _core.Failure):
            yield frame
        elif isinstance(frame, _core.Control) and isinstance(told := decode_reply(frame.body), Dropped):
            yield told


def account(client: RawClient, count: int = MESSAGES) -> tuple[list[int], Counter[str]]:
    """What a client received and what it was told that it missed, until that is all."""
    received: list[int] = []
    missed: Counter[str] = Counter()
    for heard in hear(client):
        if isinstance(heard, int):
            received.append(heard)
        elif isinstance(heard, Dropped):
            missed[heard.reason] += heard.count
        if len(received) + missed.total() >= count:
            break
    return received, missed


def topic_status(client: RawClient, topic: str) -> TopicStatus:
    status = client.ask(StatusIs, Status(id=2))
    return next(each for each in status.topics if each.topic == topic)


@pytest.mark.parametrize("overflow", ["drop_oldest", "drop_new"])
def test_what_a_deaf_subscriber_misses_is_counted(overflow: str) -> None:
    with (
        BrokerProcess(overflow=overflow, output_capacity=CAPACITY) as broker,
        Bystanders(broker.address) as bystanders,
    ):
        deaf, publisher, other = broker.client("deaf"), broker.client("publisher"), broker.client("other")
        deaf.ask(Subscribed, Subscribe(id=1, pattern="slow/#"))
        other.ask(Subscribed, Subscribe(id=1, pattern="other/#"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="slow/a")).flow
        memory = rss_bytes(broker.process.pid)
        publish_all(publisher, flow)
        bystanders.go_on(20)
        assert rss_bytes(broker.process.pid) - memory < 4 * CAPACITY * SIZE_BYTES + 30 * MB
        received, missed = account(deaf)
        assert len(received) + missed.total() == MESSAGES
        assert missed["dropped"] == missed.total() > 0
        assert received == sorted(set(received))
        assert received[0] == 0
        if overflow == "drop_oldest":
            assert received[-CAPACITY // 2 :] == list(range(MESSAGES - CAPACITY // 2, MESSAGES))
        else:
            assert received == list(range(len(received)))
        counters = topic_status(publisher, "slow/a").counters
        assert counters["dropped"] == missed.total()
        assert counters["delivered"] == len(received)


def test_large_messages_for_a_deaf_subscriber_take_no_more_memory_than_was_allowed() -> None:
    count, size_bytes, room_bytes = 300, MB, 10 * MB
    with BrokerProcess(output_bytes=room_bytes) as broker, Bystanders(broker.address) as bystanders:
        deaf, publisher = broker.client("deaf"), broker.client("publisher")
        deaf.ask(Subscribed, Subscribe(id=1, pattern="slow/#"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="slow/a")).flow
        before = most = rss_bytes(broker.process.pid)
        for number in range(count):
            publisher.publish(flow, b"%08d" % number + bytes(size_bytes - 8))
            publisher.ask(StatusIs, Status(id=1))
            most = max(most, rss_bytes(broker.process.pid))
        bystanders.go_on(20)
        # All messages together would be 300 MB.
        assert most - before < 10 * room_bytes
        received, missed = account(deaf, count)
        assert len(received) + missed.total() == count
        assert received[-1] == count - 1
        counters = topic_status(publisher, "slow/a").counters
        assert counters["dropped"] == missed["dropped"] == missed.total() > count // 2
        assert counters["delivered"] == len(received)


def test_a_deaf_subscriber_is_disconnected_where_that_is_the_policy() -> None:
    with (
        BrokerProcess(overflow="disconnect", output_capacity=CAPACITY) as broker,
        Bystanders(broker.address) as bystanders,
    ):
        deaf, publisher = broker.client("deaf"), broker.client("publisher")
        deaf.ask(Subscribed, Subscribe(id=1, pattern="slow/#"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="slow/a")).flow
        publish_all(publisher, flow)
        eventually(lambda: topic_status(publisher, "slow/a").subscribers == 0, "the deaf one to be gone")
        bystanders.go_on()
        counters = topic_status(publisher, "slow/a").counters
        assert counters["selected"] == MESSAGES
        assert counters["abandoned"] > 0
        lost = counters["dropped"] + counters["abandoned"] + counters["unmatched"]
        assert counters["delivered"] + lost == MESSAGES
        names = [client.name for client in publisher.ask(StatusIs, Status(id=3)).clients]
        assert "deaf" not in names
        received = [heard for heard in drained(deaf) if isinstance(heard, int)]
        assert received == list(range(len(received)))


def drained(client: RawClient) -> list[object]:
    """All that is left for a client whose connection has ended, in whichever way."""
    found: list[object] = []
    try:
        found.extend(hear(client))
    except ConnectionResetError:
        return found
    return found


SUBSCRIBER = """
import sys, giusto
from giusto.client.events import Drop
with giusto.connect(sys.argv[1], name="sleeper") as bus, bus.subscribe("sleep/#", queue=100_000) as inbox:
    print("ready", flush=True)
    while True:
        for message in inbox.receive_many(100, timeout="50ms"):
            print("got", int(message.payload[:8]))
        while bus.events.available():
            if isinstance(event := bus.events.receive(), Drop):
                print("missed", event.count)
        print("", end="", flush=True)
"""


def test_a_stopped_subscriber_goes_on_with_the_newest(small_queues: BrokerProcess) -> None:
    broker = small_queues
    sleeper = subprocess.Popen(
        [sys.executable, "-c", SUBSCRIBER, broker.address], stdout=subprocess.PIPE, text=True
    )
    try:
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == "ready\n"
        sleeper.send_signal(signal.SIGSTOP)
        publisher = broker.client("publisher")
        flow = publisher.ask(Advertised, Advertise(id=1, topic="sleep/a")).flow
        with Bystanders(broker.address) as bystanders:
            publish_all(publisher, flow)
            bystanders.go_on(20)
            sleeper.send_signal(signal.SIGCONT)
            got, missed = [], 0
            while len(got) + missed < MESSAGES:
                what, number = sleeper.stdout.readline().split()
                if what == "got":
                    got.append(int(number))
                else:
                    missed += int(number)
        assert missed > 0
        assert got == sorted(set(got))
        assert got[-1] == MESSAGES - 1
    finally:
        sleeper.kill()
        sleeper.communicate()


@pytest.fixture
def small_queues() -> Iterator[BrokerProcess]:
    with BrokerProcess(output_capacity=CAPACITY) as broker:
        yield broker
