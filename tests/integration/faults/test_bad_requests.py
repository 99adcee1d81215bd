"""Control frames that are no requests, or ask for nonsense: an answer or an error, and nothing changes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, get_args

import msgspec
import pytest
from bystanders import Bystanders
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from raw import BrokerProcess, RawClient, dial
from test_bad_frames import CONNECT, HELLO, header, last_words
from watch import eventually, rss_bytes

from giusto import _core
from giusto.protocol import (
    Advertise,
    Advertised,
    AnyRequest,
    Connect,
    Failed,
    Request,
    Status,
    StatusIs,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    decode_reply,
)

MB = 1_000_000
INTERNAL = 7

UNREADABLE = {
    "nothing": b"",
    "a byte that msgpack does not use": b"\xc1",
    "a number": b"\x01",
    "a list": b"\x93\x01\x02\x03",
    "text": b"\xa5hello",
    "a map without an id": msgspec.msgpack.encode({"op": "status"}),
    "an id that is no number": msgspec.msgpack.encode({"op": "status", "id": "one"}),
    "a map that ends early": b"\x85\xa2id\x01",
    "a map that promises four billion entries": b"\xdf\xff\xff\xff\xff",
    "lists 10,000 deep": b"\x91" * 10_000,
    "maps 10,000 deep": b"\x81\xa2id" * 10_000,
    "60,000 zeros": bytes(60_000),
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_body_that_cannot_be_read_ends_the_connection(
    broker: BrokerProcess, bystanders: Bystanders, body: bytes
) -> None:
    with RawClient(broker.address) as client:
        client.socket.sendall(_core.encode_control(body))
        error = last_words(client.socket)[-1]
    assert isinstance(error, _core.Failure)
    assert error.code == 1
    assert "control frame" in error.text


def test_text_that_is_no_utf_8_fails_the_request(broker: BrokerProcess, bystanders: Bystanders) -> None:
    with RawClient(broker.address) as client:
        client.socket.sendall(_core.encode_control(b"\x82\xa2id\x01\xa2op\xa2\xff\xfe"))
        assert client.until(Failed).error == "ProtocolError"


def test_a_deep_value_in_an_unknown_field_does_not_hurt(
    broker: BrokerProcess, bystanders: Bystanders
) -> None:
    with RawClient(broker.address) as client:
        client.socket.sendall(_core.encode_control(b"\x83\xa2op\xa6status\xa2id\x01\xa1x" + b"\x91" * 10_000))
        error = last_words(client.socket)[-1]
    assert isinstance(error, _core.Failure)
    assert error.code == 1


def test_a_control_frame_above_the_limit_is_refused_before_it_has_come(
    broker: BrokerProcess, bystanders: Bystanders
) -> None:
    for start in (HELLO, HELLO + CONNECT):
        stream = dial(broker.address)
        stream.sendall(start + header(8 << 20, 3) + bytes(8))
        error = last_words(stream)[-1]
        assert isinstance(error, _core.Failure)
        assert error.code == 1


REFUSED: dict[str, Request] = {
    "a second Connect": Connect(id=9, name="again", version="1"),
    "a flow of somebody else": Unadvertise(id=9, flow=0),
    "a flow that there is not": Unadvertise(id=9, flow=2**32 - 1),
    "a negative flow": Unadvertise(id=9, flow=-1),
    "a subscription that there is not": Unsubscribe(id=9, subscription=12_345),
    "a topic without a name": Advertise(id=9, topic=""),
    "a topic with a wildcard": Advertise(id=9, topic="a/#"),
    "a topic of 10,000 levels": Advertise(id=9, topic="a/" * 10_000 + "a"),
    "a pattern with a wildcard in the middle": Subscribe(id=9, pattern="#/a"),
    "a filter that does not parse": Subscribe(id=9, pattern="a", filter="temperature >"),
    "a filter 60,000 deep": Subscribe(id=9, pattern="a", filter="(" * 30_000 + "a" + ")" * 30_000),
}


@pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED.keys())
def test_a_request_that_cannot_be_granted_fails_with_a_reason(
    broker: BrokerProcess, bystanders: Bystanders, request_: Request
) -> None:
    with RawClient(broker.address) as client:
        failed = client.ask(Failed, request_)
        assert failed.id == 9
        assert failed.args
        assert client.ask(StatusIs, Status(id=10)).id == 10


# Anything that msgpack can carry, with the numbers where overflows lie.
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from([-1, 0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.floats(), st.text(max_size=20), st.binary(max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OPS = {kind.__struct_config__.tag: kind for kind in get_args(AnyRequest)}
TERMS = {
    "offer": [
        "min_sep_ns",
        "count",
        "period_ns",
        "burst",
        "jitter_ns",
        "max_sep_ns",
        "max_size_bytes",
        "timeout_ns",
        "queue",
    ],
    "need": ["max_latency_ns", "max_sep_ns", "count", "period_ns", "deadline_ns", "price", "penalty"],
    "share": ["weight", "rate", "virtual_deadline", "period_ns", "deadline_ns"],
}
NAMES = st.one_of(st.sampled_from(["a", "a/b", "+", "#", "a/+", "$x", "a//b", "/", "é", "\0"]), VALUES)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request of any kind in which every field may be of any type."""
    op = draw(st.sampled_from(sorted(OPS)))
    request: dict[str, Any] = {"op": op, "id": draw(NUMBERS)}
    for name in OPS[op].__struct_fields__:
        if name == "id":
            continue
        if name in TERMS:
            fields = st.sampled_from(TERMS[name])
            likely = st.dictionaries(fields, st.one_of(NUMBERS, st.floats(), VALUES), max_size=4)
            request[name] = draw(st.one_of(likely, VALUES))
        elif name in ("topic", "pattern", "name"):
            request[name] = draw(NAMES)
        else:
            request[name] = draw(VALUES)
    return request


def answers(client: RawClient, sent: list[dict[str, Any]]) -> list[object]:
    """What comes back for some requests, up to the answer of a Status behind them."""
    end = {"op": "status", "id": 77}
    bodies = [_core.encode_control(msgspec.msgpack.encode(request)) for request in [*sent, end]]
    client.socket.sendall(b"".join(bodies))
    heard: list[object] = []
    while (frame := client.frame()) is not None:
        if isinstance(frame, _core.Failure):
            return [*heard, frame]
        if isinstance(frame, _core.Control):
            heard.append(decode_reply(frame.body))
            if isinstance(heard[-1], StatusIs) and heard[-1].id == 77:
                return heard
    raise AssertionError("closed without a word")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(requests(), min_size=1, max_size=8))
def test_wrong_types_in_any_field_are_never_a_mistake_of_the_broker(
    broker: BrokerProcess, sent: list[dict[str, Any]]
) -> None:
    with RawClient(broker.address) as client:
        heard = answers(client, sent)
    assert not any(isinstance(each, _core.Failure) and each.code == INTERNAL for each in heard), heard
    answered = [each for each in heard if hasattr(each, "id")]
    assert len(answered) == len(sent) + 1, heard


def test_ten_thousand_requests_without_reading_the_answers(
    broker: BrokerProcess, bystanders: Bystanders
) -> None:
    before = rss_bytes(broker.process.pid)
    flooder = RawClient(broker.address, "flooder")
    topics = [flooder.ask(Advertised, Advertise(id=n, topic=f"flood/{n}")) for n in range(200)]
    assert len(topics) == 200
    flooder.socket.settimeout(1)
    body = _core.encode_control(msgspec.msgpack.encode({"op": "status", "id": 1}))
    with pytest.raises(TimeoutError):
        # The broker stops reading who does not read: the kernel's buffers end the flood.
        flooder.socket.sendall(body * 1_000_000)
    bystanders.go_on(20)
    assert rss_bytes(broker.process.pid) - before < 100 * MB
    flooder.socket.close()
    eventually(lambda: rss_bytes(broker.process.pid) - before < 50 * MB, "the memory to return")


def test_large_bodies_from_many_do_not_pile_up(broker: BrokerProcess, bystanders: Bystanders) -> None:
    before = rss_bytes(broker.process.pid)
    body = _core.encode_control(msgspec.msgpack.encode({"op": "status", "id": 1, "x": bytes(65_000)}))
    crowd = [RawClient(broker.address) for _ in range(20)]
    rest = [memoryview(body * 100) for _ in crowd]
    for _ in range(100):
        for number, client in enumerate(crowd):
            client.socket.setblocking(False)
            with suppress(BlockingIOError):
                rest[number] = rest[number][client.socket.send(rest[number]) :]
    bystanders.go_on(20)
    assert rss_bytes(broker.process.pid) - before < 100 * MB
    for client in crowd:
        client.close()
    eventually(lambda: rss_bytes(broker.process.pid) - before < 50 * MB, "the memory to return")
