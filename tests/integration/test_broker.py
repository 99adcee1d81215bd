"""A broker in a process of its own, spoken to in raw frames: what it does for clients, good and bad."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from raw import WATCHDOG_S, BrokerProcess, RawClient, dial

from giusto import _core
from giusto.broker import Broker
from giusto.config import BrokerConfig, Limits
from giusto.protocol import (
    Advertise,
    Advertised,
    Closing,
    Connect,
    Dropped,
    Failed,
    Matched,
    OfferTerms,
    SourceIs,
    Status,
    StatusIs,
    Subscribe,
    Subscribed,
    TopicIs,
    encode,
)


def test_the_broker_says_when_it_is_ready_and_stops_on_sigterm() -> None:
    with BrokerProcess() as broker:
        assert broker.ready.startswith("ready giusto://127.0.0.1:")
        with RawClient(broker.address, "a") as client:
            assert client.connected.name == "a"
            broker.signal(signal.SIGTERM)
            assert client.until(Closing).reason == "the broker is shutting down"
            assert isinstance(client.frame(), _core.Goodbye)
            assert client.frame() is None
        assert broker.wait() == 0


def test_a_topic_that_appears_later_reaches_a_wildcard_under_its_name(broker: BrokerProcess) -> None:
    with RawClient(broker.address, "nurse") as nurse, RawClient(broker.address, "monitor") as monitor:
        nurse.ask(Subscribed, Subscribe(id=1, pattern="ward/#"))
        flow = monitor.ask(Advertised, Advertise(id=1, topic="ward/3/alarm"))
        assert flow.subscribers == 1
        monitor.publish(flow.flow, b"SpO2 low")
        assert nurse.reply() == TopicIs(flow.topic, "ward/3/alarm")
        assert nurse.reply() == SourceIs(monitor.connected.client, "monitor")
        assert nurse.payload() == b"SpO2 low"


def test_what_waits_is_sent_before_the_broker_stops() -> None:
    count = 500
    with BrokerProcess() as broker:
        subscriber, publisher = broker.client("s"), broker.client("p")
        subscriber.ask(Subscribed, Subscribe(id=1, pattern="#"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="a")).flow
        publisher.publish(flow, *(b"%d" % number for number in range(count)))
        # Frames of one connection are read in order: after the answer, the messages are in the broker.
        publisher.ask(StatusIs, Status(id=2))
        broker.signal(signal.SIGINT)
        assert [int(subscriber.payload()) for _ in range(count)] == list(range(count))
        while (frame := subscriber.frame()) is not None:
            assert isinstance(frame, _core.Control | _core.Goodbye)
        assert broker.wait() == 0


def test_a_second_signal_stops_at_once() -> None:
    with BrokerProcess(drain="10min", output_capacity=200_000) as broker:
        deaf, publisher = broker.client("deaf"), broker.client("p")
        deaf.ask(Subscribed, Subscribe(id=1, pattern="#"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="a")).flow
        for number in range(30):
            publisher.publish(flow, *[bytes(50_000)] * 20)
            publisher.ask(StatusIs, Status(id=number))
        broker.signal(signal.SIGTERM)
        publisher.until(Closing)
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 128 + signal.SIGTERM


def test_a_killed_client_leaves_nothing_behind(broker: BrokerProcess) -> None:
    program = (
        "import sys; from raw import RawClient; from giusto.protocol import *; "
        "c = RawClient(sys.argv[1], 'victim'); c.ask(Advertised, Advertise(id=1, topic='killed/topic')); "
        "print('there', flush=True); c.frame()"
    )
    with RawClient(broker.address, "watcher") as watcher:
        watcher.ask(Subscribed, Subscribe(id=1, pattern="killed/+"))
        victim = subprocess.Popen(
            [sys.executable, "-c", program, broker.address],
            cwd=Path(__file__).parent,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert watcher.until(Matched).count == 1
        victim.kill()
        victim.communicate()
        assert watcher.until(Matched).count == 0
        with RawClient(broker.address, "victim") as again:
            assert again.connected.name == "victim"


def test_a_taken_name_is_refused(broker: BrokerProcess) -> None:
    with RawClient(broker.address, "taken") as first, RawClient(broker.address) as second:
        assert second.connected.name != first.connected.name
        third = dial(broker.address)
        third.sendall(
            _core.encode_hello() + _core.encode_control(encode(Connect(id=1, name="taken", version="1")))
        )
        decoder = _core.FrameDecoder()
        frames: list[object] = []
        while len(frames) < 2:
            decoder.feed(third.recv(65_536))
            frames += decoder
        assert isinstance(frames[1], _core.Control)
        assert b"Duplicate" in frames[1].body
        third.close()


def garbage(seed: int) -> Iterator[bytes]:
    """What a broken or hostile client sends after hello."""
    chance = Random(seed)
    connect = _core.encode_control(encode(Connect(id=1, name="", version="1")))
    yield b""
    yield chance.randbytes(1_000)
    yield connect[:-3]
    yield (2**32 - 1).to_bytes(4, "little") + connect[4:]
    yield _core.encode_control(b"\xc1")
    yield _core.encode_control(encode(Status(id=1)))
    yield connect + _core.encode_control(chance.randbytes(100))
    yield connect + _core.encode_control(b"\x91" * 60_000)
    yield connect + _core.encode_control(bytes(100_000))
    yield connect + _core.encode_hello()
    yield connect + _core.encode_data(b"x", stream=77, sequence=0, t_sent_ns=0)
    yield from (connect + chance.randbytes(chance.randint(1, 200)) for _ in range(50))


def test_bad_input_hurts_nobody_else(broker: BrokerProcess, seed: int) -> None:
    with RawClient(broker.address, "honest") as honest:
        for body in garbage(seed):
            bad = dial(broker.address)
            bad.sendall(_core.encode_hello() + body)
            bad.shutdown(socket.SHUT_WR)
            while bad.recv(65_536):
                pass
            bad.close()
        honest.ask(StatusIs, Status(id=1))
        while len(honest.ask(StatusIs, Status(id=2)).clients) > 1:
            pass  # The last of them may still be on its way out; the test's watchdog is the socket's.


def test_a_request_before_connect_is_answered_with_an_error_frame(broker: BrokerProcess) -> None:
    stream = dial(broker.address)
    stream.sendall(_core.encode_hello() + _core.encode_control(encode(Status(id=1))))
    decoder = _core.FrameDecoder()
    while data := stream.recv(65_536):
        decoder.feed(data)
    hello, error = list(decoder)
    assert isinstance(hello, _core.Hello)
    assert isinstance(error, _core.Failure)
    assert (error.code, error.text) == (2, "Status before Connect")
    stream.close()


def test_clients_may_come_and_go_as_often_as_they_like(broker: BrokerProcess) -> None:
    with RawClient(broker.address, "constant") as constant:
        constant.ask(Subscribed, Subscribe(id=1, pattern="come-and-go"))
        for _ in range(300):
            with RawClient(broker.address, "guest") as guest:
                guest.ask(Subscribed, Subscribe(id=1, pattern="#"))
                guest.ask(Advertised, Advertise(id=2, topic="come-and-go"))
                assert constant.until(Matched, lambda told: told.count == 1)
            assert constant.until(Matched, lambda told: told.count == 0)
        status = constant.ask(StatusIs, Status(id=2))
        assert [client.name for client in status.clients] == ["constant"]


def test_a_publisher_hears_that_it_broke_its_offer(broker: BrokerProcess) -> None:
    with RawClient(broker.address, "hasty") as hasty:
        offer = OfferTerms(min_sep_ns=3_600_000_000_000)
        flow = hasty.ask(Advertised, Advertise(id=1, topic="hasty", offer=offer)).flow
        hasty.publish(flow, b"1", b"2", b"3")
        dropped = hasty.until(Dropped)
        assert (dropped.topic, dropped.reason, dropped.flow) == ("hasty", "policed", flow)
        while dropped.count < 2:
            dropped = Dropped("hasty", "policed", dropped.count + hasty.until(Dropped).count)


def test_a_subscriber_hears_what_it_missed() -> None:
    with BrokerProcess(output_capacity=4) as broker:
        slow, publisher = broker.client("slow"), broker.client("p")
        slow.ask(Subscribed, Subscribe(id=1, pattern="#"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="a")).flow
        for number in range(20):
            publisher.publish(flow, *[bytes(100_000)] * 20)
            publisher.ask(StatusIs, Status(id=number))
        dropped = slow.until(Dropped)
        assert (dropped.topic, dropped.reason, dropped.flow) == ("a", "dropped", None)
        assert dropped.count > 0


def test_unix_sockets_carry_the_same(tmp_path: Path) -> None:
    path = tmp_path / "giusto.sock"
    with BrokerProcess(listen=[f"unix://{path}"]) as broker:
        assert broker.address == f"giusto+unix://{path}"
        with RawClient(broker.address, "a") as client:
            client.ask(Subscribed, Subscribe(id=1, pattern="x"))
            flow = client.ask(Advertised, Advertise(id=2, topic="x")).flow
            client.publish(flow, b"over a file")
            assert client.payload() == b"over a file"
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0
        assert not path.exists()


def test_data_goes_by_datagrams_where_both_sides_want_it() -> None:
    with BrokerProcess(listen=["tcp://127.0.0.1:0", "udp://127.0.0.1:0"]) as broker:
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        datagrams.settimeout(WATCHDOG_S)
        with RawClient(broker.address, "a", udp_port=datagrams.getsockname()[1]) as client:
            client.ask(Subscribed, Subscribe(id=1, pattern="x"))
            flow = client.ask(Advertised, Advertise(id=2, topic="x")).flow
            frame = _core.encode_data(b"light", stream=flow, sequence=0, t_sent_ns=0)
            assert client.connected.udp_port is not None
            datagrams.sendto(frame, ("127.0.0.1", client.connected.udp_port))
            received, _ = _core.decode(datagrams.recv(65_536))
            assert isinstance(received, _core.Data)
            assert received.payload == b"light"
        datagrams.close()


def test_a_broker_that_serves_by_time_serves_too() -> None:
    with BrokerProcess(mode="time", period="5ms", budget="2ms") as broker:
        client = broker.client("a")
        client.ask(Subscribed, Subscribe(id=1, pattern="x"))
        flow = client.ask(Advertised, Advertise(id=2, topic="x")).flow
        client.publish(flow, b"in its turn")
        assert client.payload() == b"in its turn"
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0


def test_a_broker_that_cannot_start_says_why(broker: BrokerProcess) -> None:
    with BrokerProcess(listen=[broker.address.replace("giusto", "tcp")]) as second:
        assert second.wait() == 1
        assert second.process.stderr is not None
        said = second.process.stderr.read()
        assert said.startswith("giusto: broker.listen = ")
        assert "Traceback" not in said


def test_a_broker_runs_inside_a_program_too() -> None:
    config = BrokerConfig(listen=("tcp://127.0.0.1:0",), limits=Limits(topics=1))
    with Broker(config) as broker:
        with RawClient(broker.address, "a") as client:
            client.ask(Advertised, Advertise(id=1, topic="x"))
            assert client.ask(Failed, Advertise(id=2, topic="y")).error == "InvalidInput"
        broker.stop()
        assert broker.run() is None
    assert broker.failure is None
