"""Very many connections, at once or one after the other: others are served, memory and files come back."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator

import pytest
from bystanders import Bystanders
from raw import BrokerProcess, RawClient, dial
from watch import eventually, open_files, rss_bytes

import giusto
from giusto import _core
from giusto.errors import GiustoError
from giusto.protocol import Advertise, Advertised, Status, StatusIs, Subscribe, Subscribed

MB = 1_000_000
CROWD = 10_000
# Files that the test process needs for itself.
SPARE_FILES = 200


@pytest.fixture
def many_files() -> Iterator[int]:
    """As many open files as the system allows; how many connections that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield min(CROWD, hard - SPARE_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_ten_thousand_silent_connections_are_closed_and_leave_nothing(many_files: int) -> None:
    with BrokerProcess(handshake="4s") as broker, Bystanders(broker.address) as bystanders:
        pid = broker.process.pid
        memory, files = rss_bytes(pid), open_files(pid)
        crowd = [dial(broker.address) for _ in range(many_files)]
        bystanders.go_on(20)
        for stream in crowd:
            decoder = _core.FrameDecoder()
            while data := stream.recv(4_096):
                decoder.feed(data)
            hello, error = list(decoder)
            assert isinstance(hello, _core.Hello)
            assert isinstance(error, _core.Failure)
            assert (error.code, error.text) == (5, "no hello and Connect in time")
            stream.close()
        eventually(lambda: open_files(pid) <= files, "the broker to close its sockets")
        assert rss_bytes(pid) - memory < 40 * MB
        bystanders.go_on()


def test_no_more_connections_than_there_may_be() -> None:
    with BrokerProcess(connections_max=10) as broker, Bystanders(broker.address) as bystanders:
        crowd = [broker.client() for _ in range(8)]
        surplus = dial(broker.address)
        decoder = _core.FrameDecoder()
        while data := surplus.recv(4_096):
            decoder.feed(data)
        (error,) = list(decoder)
        assert isinstance(error, _core.Failure)
        assert error.code == 3
        surplus.close()
        with pytest.raises(GiustoError, match="as many connections as there may be"):
            giusto.connect(broker.address, timeout=30)
        bystanders.go_on()
        crowd.pop().close()
        status = crowd[0]
        eventually(lambda: len(status.ask(StatusIs, Status(id=1)).clients) == 9, "the place to be free")
        with RawClient(broker.address) as late:
            assert late.connected.client >= 0


def test_a_broker_without_files_serves_who_is_there_and_recovers() -> None:
    with BrokerProcess() as broker, Bystanders(broker.address) as bystanders:
        pid = broker.process.pid
        files = open_files(pid)
        most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (files + 10, most[1]))
        crowd = [dial(broker.address) for _ in range(50)]
        eventually(lambda: open_files(pid) >= files + 10, "the broker to use all its files")
        bystanders.go_on(20)
        for stream in crowd:
            stream.close()
        with RawClient(broker.address, "late") as late:
            assert late.connected.name == "late"


def leave_politely(client: RawClient) -> None:
    client.socket.sendall(_core.encode_goodbye())
    while client.frame() is not None:
        pass
    client.close()


def leave(client: RawClient) -> None:
    client.close()


def leave_with_a_reset(client: RawClient) -> None:
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()


def leave_half(client: RawClient) -> None:
    client.socket.shutdown(socket.SHUT_WR)
    while client.frame() is not None:
        pass
    client.close()


def leave_in_mid_frame(client: RawClient) -> None:
    client.socket.sendall(_core.encode_data(bytes(100), stream=0, sequence=0, t_sent_ns=0)[:80])
    client.close()


LEAVE = [leave_politely, leave, leave_with_a_reset, leave_half, leave_in_mid_frame]


def come_and_go(broker: BrokerProcess, count: int) -> None:
    for number in range(count):
        client = RawClient(broker.address)
        client.ask(Subscribed, Subscribe(id=1, pattern=f"visit/{number}/#"))
        client.ask(Subscribed, Subscribe(id=2, pattern="visit/#", filter='a > 1 and b == "x"'))
        flow = client.ask(Advertised, Advertise(id=3, topic=f"visit/{number % 10}")).flow
        client.publish(flow, *[bytes(100)] * 10)
        LEAVE[number % len(LEAVE)](client)


def test_a_thousand_visitors_leave_nothing_behind(
    broker: BrokerProcess, bystanders: Bystanders, cases: int
) -> None:
    pid = broker.process.pid
    with RawClient(broker.address, "host") as host:

        def alone() -> bool:
            return len(host.ask(StatusIs, Status(id=1)).clients) == 3

        come_and_go(broker, 200)
        eventually(alone, "the first visitors to be gone")
        memory, files = rss_bytes(pid), open_files(pid)
        come_and_go(broker, 1_000 * cases)
        eventually(alone, "all visitors to be gone")
        assert open_files(pid) <= files
        assert rss_bytes(pid) - memory < 10 * MB
        counted = {each.topic: each for each in host.ask(StatusIs, Status(id=2)).topics}
        assert all(counted[f"visit/{n}"].publishers == 0 for n in range(10))
        assert all(counted[f"visit/{n}"].subscribers == 0 for n in range(10))
