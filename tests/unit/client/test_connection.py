"""The native connection and publisher: what a refused message costs, and what a signal does."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import threading
from collections.abc import Iterator

import pytest

from giusto import _core
from giusto.errors import Closed, QueueFull, TimedOut, TooLarge

WATCHDOG_S = 60


def in_memory() -> _core.Connection:
    connection = _core.Connection(in_memory=True)
    connection.open_memory()
    connection.feed(_core.encode_hello())
    return connection


@pytest.fixture
def peer() -> Iterator[tuple[_core.Connection, socket.socket]]:
    """A connection, and the broker's end of it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection = _core.Connection()
        connection.open(f"giusto://127.0.0.1:{listener.getsockname()[1]}", WATCHDOG_S * 1_000_000_000)
        other, _ = listener.accept()
    with other:
        other.settimeout(WATCHDOG_S)
        other.sendall(_core.encode_hello())
        yield connection, other
    connection.end("the test is over", 0, is_wanted=True)


def test_a_message_larger_than_a_frame_costs_no_credit_and_no_number() -> None:
    publisher = _core.BlockingPublisher(connection := in_memory())
    publisher._bind(0, 4)
    connection.drain()
    large = bytes(17 << 20)
    with pytest.raises(TooLarge, match="size_bytes"):
        publisher.publish(large)
    with pytest.raises(TooLarge, match="size_bytes"):
        publisher.publish_many([b"small", large])
    with pytest.raises(TooLarge, match="size_bytes"):
        publisher.try_publish(large)
    assert (publisher.credit, publisher.published, connection.drain()) == (4, 0, b"")


def test_what_is_published_without_a_flow_is_not_taken_for_sent() -> None:
    publisher = _core.BlockingPublisher(connection := in_memory())
    publisher._bind(0, 2)
    assert publisher.try_publish_many([b"1", b"2", b"3"]) == 2
    with pytest.raises(QueueFull):
        publisher.publish(b"3", timeout=0)
    publisher._close()
    with pytest.raises(Closed, match="unadvertise"):
        publisher.try_publish(b"3")
    assert (publisher.published, connection.is_connected) == (2, True)


def test_what_has_come_is_available_without_waiting(peer: tuple[_core.Connection, socket.socket]) -> None:
    connection, other = peer
    inbox = _core.BlockingInbox(connection, "a")
    named = b"\x83\xa2op\xa7topicis\xa6number\x01\xa4name\xa1a"
    data = _core.encode_data(b"x", stream=1, sequence=0, t_sent_ns=0)
    other.sendall(_core.encode_control(named) + data + data)
    began_ns = connection.now
    while inbox.available() < 2:
        assert connection.now - began_ns < WATCHDOG_S * 1_000_000_000
    assert [inbox.receive(timeout=0).payload, inbox.receive(timeout=0).payload] == [b"x", b"x"]
    with pytest.raises(TimedOut):
        inbox.receive(timeout=0)


def writer() -> int | None:
    """The number of the thread that writes, if there is one."""
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as comm:
            if comm.read().strip() == "giusto-writer":
                return int(task)
    return None


def until_it_sleeps(task: int, connection: _core.Connection) -> None:
    """Return when the thread waits although there is much to write, or the connection has ended."""
    is_asleep = False
    while connection.is_connected and (connection.has_room or not is_asleep):
        connection.pump()
        with open(f"/proc/self/task/{task}/stat") as stat:
            is_asleep = stat.read().rpartition(") ")[2].startswith("S")


def test_a_signal_to_the_thread_that_writes_is_no_end(peer: tuple[_core.Connection, socket.socket]) -> None:
    connection, other = peer
    before = {int(task) for task in os.listdir("/proc/self/task")}
    publisher = _core.BlockingPublisher(connection)
    publisher._bind(0, 1000)
    payloads = [bytes(65536)] * 200

    def publish() -> None:
        for payload in payloads:
            publisher.publish(payload)

    publishing = threading.Thread(target=publish)
    handler = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        publishing.start()
        while (task := writer()) is None or task in before:
            assert publishing.is_alive()
        for _ in range(100):
            until_it_sleeps(task, connection)
            assert ctypes.CDLL(None).tgkill(os.getpid(), task, signal.SIGUSR1) == 0
        left = len(payloads) * 65536
        while left > 0 and (count := len(other.recv(1 << 20))) > 0:
            left -= count
        publishing.join(WATCHDOG_S)
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert (left <= 0, connection.is_connected, publisher.published) == (True, True, 200)
