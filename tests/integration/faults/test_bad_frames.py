"""Bytes that are no frames, or come at the wrong moment: their sender is closed, and nobody else notices."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from random import Random

import pytest
from bystanders import Bystanders
from raw import BrokerProcess, RawClient, dial
from watch import eventually, open_files, rss_bytes

from giusto import _core
from giusto.protocol import Advertise, Advertised, Connect, Status, StatusIs, encode

MB = 1_000_000
HELLO = _core.encode_hello()
CONNECT = _core.encode_control(encode(Connect(id=0, name="", version="test")))
DATA = _core.encode_data(b"x" * 100, stream=0, sequence=0, t_sent_ns=0)


def header(length: int, kind: int, priority: int = 0, flags: int = 0) -> bytes:
    return struct.pack("<IBBH", length, kind, priority, flags)


def last_words(stream: socket.socket) -> list[object]:
    """All frames up to the end of the connection; a reset counts as an end."""
    decoder = _core.FrameDecoder()
    try:
        while data := stream.recv(65_536):
            decoder.feed(data)
    except ConnectionResetError:
        pass
    stream.close()
    return list(decoder)


def say(broker: BrokerProcess, *parts: bytes) -> list[object]:
    """What the broker answers to some bytes before it closes the connection."""
    stream = dial(broker.address)
    for part in parts:
        stream.sendall(part)
    return last_words(stream)


WRONG = {
    "a hello with another magic word": header(16, 1) + b"HTTP" + struct.pack("<HH", 1, 0),
    "a hello of another version": header(16, 1) + b"GIUS" + struct.pack("<HH", 999, 0),
    "no hello at all": CONNECT,
    "a web browser": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "data before hello": DATA,
    "two hellos": HELLO + HELLO,
    "data before Connect": HELLO + DATA,
    "credit before Connect": HELLO + _core.encode_credit(stream=0, amount=1),
    "a frame of an unknown kind": HELLO + CONNECT + header(16, 99) + bytes(8),
    "a frame of kind zero": HELLO + CONNECT + header(16, 0) + bytes(8),
    "a frame that is shorter than its header": HELLO + CONNECT + header(7, 3),
    "a frame of no bytes": HELLO + CONNECT + header(0, 3),
    "a data frame that is too short for its header": HELLO + CONNECT + header(20, 2) + bytes(12),
    "a priority that there is not": HELLO + CONNECT + header(len(DATA), 2, priority=8) + DATA[8:],
    "flags on a control frame": HELLO + CONNECT + header(9, 3, flags=1) + b"\x80",
    "a frame that promises 4 GiB": HELLO + CONNECT + header(2**32 - 1, 2),
    "a frame one byte above the limit": HELLO + CONNECT + header((16 << 20) + 1, 2),
    "attributes that are longer than their frame": HELLO
    + CONNECT
    + DATA[:48]
    + struct.pack("<II", 2**32 - 1, 0)
    + DATA[56:],
    "attributes that are none": HELLO + CONNECT + DATA[:48] + struct.pack("<II", 50, 0) + DATA[56:],
    "a negative timeout": HELLO + CONNECT + DATA[:40] + struct.pack("<q", -1) + DATA[48:],
}


@pytest.mark.parametrize("said", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_frame_is_answered_with_an_error(
    broker: BrokerProcess, bystanders: Bystanders, said: bytes
) -> None:
    frames = say(broker, said)
    assert isinstance(frames[0], _core.Hello)
    assert isinstance(frames[-1], _core.Failure), frames
    assert frames[-1].code in (1, 2)
    assert frames[-1].text


def test_a_flow_that_the_client_does_not_have_ends_its_connection(
    broker: BrokerProcess, bystanders: Bystanders
) -> None:
    with RawClient(broker.address, "owner") as owner, RawClient(broker.address, "thief") as thief:
        flow = owner.ask(Advertised, Advertise(id=1, topic="owned")).flow
        thief.publish(flow, b"forged")
        error = last_words(thief.socket)[-1]
        assert isinstance(error, _core.Failure)
        assert error.code == 1
        status = owner.ask(StatusIs, Status(id=2))
        counted = {topic.topic: topic.counters for topic in status.topics}
        assert counted["owned"].get("ingested", 0) == 0


def random_frames(chance: Random, count: int) -> Iterator[bytes]:
    """Bytes that look like frames to different degrees."""
    for _ in range(count):
        noise = chance.randbytes(chance.randint(0, 300))
        length = chance.choice([len(noise) + 8, chance.randint(0, 600), chance.getrandbits(32)])
        start = chance.choice([b"", HELLO, HELLO + CONNECT])
        framed = header(length, chance.randint(0, 9), chance.randint(0, 9), chance.getrandbits(3)) + noise
        yield start + chance.choice([noise, framed])


def test_random_bytes_hurt_nobody_else(
    broker: BrokerProcess, bystanders: Bystanders, seed: int, cases: int
) -> None:
    chance = Random(seed)
    for said in random_frames(chance, 200 * cases):
        stream = dial(broker.address)
        stream.sendall(said)
        stream.shutdown(socket.SHUT_WR)
        last_words(stream)
    bystanders.go_on()


def test_a_byte_at_a_time_is_as_good_as_a_frame(broker: BrokerProcess, bystanders: Bystanders) -> None:
    stream = dial(broker.address)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in HELLO + CONNECT:
        stream.sendall(bytes([byte]))
    decoder = _core.FrameDecoder()
    frames: list[object] = []
    while len(frames) < 2:
        decoder.feed(stream.recv(65_536))
        frames += decoder
    assert isinstance(frames[1], _core.Control)
    stream.close()


def test_every_truncation_of_a_conversation_leaves_nothing_behind(
    broker: BrokerProcess, bystanders: Bystanders
) -> None:
    whole = HELLO + CONNECT + _core.encode_control(encode(Advertise(id=1, topic="cut"))) + DATA
    before = open_files(broker.process.pid)
    for end in range(len(whole)):
        stream = dial(broker.address)
        stream.sendall(whole[:end])
        stream.close()
    eventually(lambda: open_files(broker.process.pid) <= before, "the sockets to be closed")


def test_promised_bytes_that_never_come_cost_no_memory(broker: BrokerProcess, bystanders: Bystanders) -> None:
    before = rss_bytes(broker.process.pid)
    streams = [dial(broker.address) for _ in range(200)]
    for stream in streams:
        stream.sendall(HELLO + CONNECT + header(16 << 20, 2) + bytes(100))
    bystanders.go_on(20)
    # 200 frames of 16 MiB each are 3.3 GB.
    assert rss_bytes(broker.process.pid) - before < 50 * MB
    for stream in streams:
        stream.close()


def test_the_memory_of_large_frames_that_end_early_returns(
    broker: BrokerProcess, bystanders: Bystanders
) -> None:
    before = rss_bytes(broker.process.pid)
    for _ in range(20):
        stream = dial(broker.address)
        stream.sendall(HELLO + CONNECT + header(16 << 20, 2) + bytes(8 << 20))
        stream.close()
    eventually(lambda: rss_bytes(broker.process.pid) - before < 50 * MB, "the memory to return")
