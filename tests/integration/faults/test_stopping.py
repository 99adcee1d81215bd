"""How a broker starts and ends: signals, what waits, addresses that are taken, settings that are wrong."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from raw import WATCHDOG_S, BrokerProcess, RawClient
from watch import eventually

from giusto import _core
from giusto.protocol import (
    Advertise,
    Advertised,
    Closing,
    OfferTerms,
    Status,
    StatusIs,
    Subscribe,
    Subscribed,
    decode_reply,
)


def test_what_waits_for_a_subscriber_that_reads_late_is_sent_before_the_end() -> None:
    count, size = 300, 50_000
    with BrokerProcess(drain="60s") as broker:
        late, publisher = broker.client("late"), broker.client("p")
        late.ask(Subscribed, Subscribe(id=1, pattern="#"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="a")).flow
        for first in range(0, count, 20):
            numbers = range(first, first + 20)
            publisher.publish(flow, *(b"%08d" % number + bytes(size - 8) for number in numbers))
            publisher.ask(StatusIs, Status(id=2))
        broker.signal(signal.SIGTERM)
        assert publisher.until(Closing).reason
        received, said = [], []
        while (frame := late.frame()) is not None:
            if isinstance(frame, _core.Data):
                received.append(int(frame.payload[:8]))
            elif isinstance(frame, _core.Control):
                said.append(decode_reply(frame.body))
            else:
                assert isinstance(frame, _core.Goodbye)
        assert received == list(range(count))
        assert any(isinstance(told, Closing) for told in said)
        assert broker.wait() == 0


def test_a_subscriber_that_never_reads_does_not_hold_up_the_end_for_ever() -> None:
    with BrokerProcess(drain="300ms", output_capacity=10_000) as broker:
        deaf, publisher = broker.client("deaf"), broker.client("p")
        deaf.ask(Subscribed, Subscribe(id=1, pattern="#"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="a")).flow
        for _ in range(20):
            publisher.publish(flow, *[bytes(50_000)] * 20)
            publisher.ask(StatusIs, Status(id=2))
        broker.signal(signal.SIGINT)
        assert broker.wait() == 0


def flood(to: socket.socket, data: bytes) -> None:
    for _ in range(1_000):
        to.sendall(data)


def test_a_publisher_that_floods_does_not_hold_up_the_end() -> None:
    with BrokerProcess(drain="10min") as broker:
        flooder = broker.client("flooder")
        offer = OfferTerms(min_sep_ns=1_000_000, queue=8)
        flow = flooder.ask(Advertised, Advertise(id=1, topic="a", offer=offer)).flow
        message = _core.encode_data(b"x", stream=flow, sequence=0, t_sent_ns=0)
        broker.signal(signal.SIGTERM)
        with pytest.raises(OSError, match=r"(?i)reset|pipe"):
            flood(flooder.socket, message * 100_000)
        assert broker.wait() == 0


def test_who_says_nothing_does_not_hold_up_the_end() -> None:
    with BrokerProcess(handshake="10min") as broker:
        host, port = broker.address.removeprefix("giusto://").split(":")
        with socket.create_connection((host, int(port)), WATCHDOG_S) as silent:
            assert silent.recv(16)
            broker.signal(signal.SIGTERM)
            assert broker.wait() == 0


def test_two_signals_at_once_end_it_without_a_traceback() -> None:
    with BrokerProcess() as broker:
        broker.signal(signal.SIGINT)
        broker.signal(signal.SIGTERM)
        assert broker.wait() in (0, 128 + signal.SIGINT, 128 + signal.SIGTERM)
        assert broker.process.stderr is not None
        assert "Traceback" not in broker.process.stderr.read()


# --- files of Unix sockets


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "giusto.sock"


def test_the_file_of_a_killed_broker_is_taken_over(path: Path) -> None:
    with BrokerProcess(listen=[f"unix://{path}"]) as first:
        first.signal(signal.SIGKILL)
        first.wait()
    assert path.is_socket()
    with BrokerProcess(listen=[f"unix://{path}"]) as second, RawClient(second.address, "a") as client:
        assert client.connected.name == "a"


def test_the_file_of_a_running_broker_is_left_alone(path: Path) -> None:
    with BrokerProcess(listen=[f"unix://{path}"]) as first:
        with BrokerProcess(listen=[f"unix://{path}"]) as second:
            assert second.wait() == 1
        with RawClient(first.address, "a") as client:
            assert client.connected.name == "a"


def test_a_file_that_is_no_socket_is_left_alone(path: Path) -> None:
    path.write_text("precious")
    with BrokerProcess(listen=[f"unix://{path}"]) as broker:
        assert broker.wait() == 1
    assert path.read_text() == "precious"


# --- the command


def command(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "giusto", "broker", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=WATCHDOG_S,
    )


WRONG = {
    "an address that is none": ["--listen", "nowhere"],
    "a host that is not this one": ["--listen", "tcp://192.0.2.1:7447"],
    "a policy that there is not": ["--input", "psychic"],
    "a period without a unit": ["--listen", "tcp://127.0.0.1:0", "--mode", "time", "--period", "soon"],
    "a budget above the period": ["--mode", "time", "--period", "1ms", "--budget", "2ms"],
    "a file that is not there": ["--config", "/does/not/exist.toml"],
    "a folder that is not there": ["--listen", "unix:///does/not/exist.sock"],
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_setting_is_one_clear_line(options: list[str]) -> None:
    ended = command(*options)
    assert ended.returncode != 0
    assert ended.stdout == ""
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_configuration_that_does_not_parse_is_one_clear_line(tmp_path: Path) -> None:
    for text in ("[broker\n", "\x00", '[broker]\nlisten = "x"\n', "[broker]\nnonsense = 1\n", "[[topics]]\n"):
        file = tmp_path / "giusto.toml"
        file.write_text(text)
        ended = command("--config", str(file))
        assert ended.returncode != 0
        assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr


def test_a_taken_port_is_one_clear_line(broker: BrokerProcess) -> None:
    ended = command("--listen", broker.address.replace("giusto", "tcp"))
    assert ended.returncode != 0
    assert "in use" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_the_command_drains_on_ctrl_c() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip().removeprefix("ready ")
        with RawClient(address, "a") as client:
            process.send_signal(signal.SIGINT)
            assert client.until(Closing).reason == "the broker is shutting down"
        eventually(lambda: process.poll() is not None, "the command to end")
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
