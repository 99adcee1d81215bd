"""Numbers of clients, flows and topics that are given out again, and what must not come back with them."""

from __future__ import annotations

import contextlib

import pyarrow
import pytest

from giusto import _core
from giusto.errors import GiustoError, InvalidInput, Policed, QueueFull, TooLarge

INPUTS = [name for name, _ in _core.input_policies()]


def pump(engine: _core.Engine, now: int = 0) -> None:
    while engine.step(now) is not None:
        pass


def payloads(engine: _core.Engine, client: int, now: int = 0) -> list[bytes]:
    found = []
    while (delivery := engine.take(now, client)) is not None:
        found.append(delivery.payload)
    return found


@pytest.mark.parametrize("policy", INPUTS)
def test_a_publisher_keeps_its_number_while_a_delivery_of_it_waits(policy: str) -> None:
    engine = _core.Engine(input=policy, record_capacity=10)
    topic = engine.declare("news")
    writer, reader = engine.connect("writer"), engine.connect("reader")
    engine.subscribe(reader, "news")
    engine.publish(0, engine.advertise(writer, topic), b"signed")
    pump(engine)
    engine.disconnect(writer)
    assert engine.connect("impostor") != writer
    assert payloads(engine, reader) == [b"signed"]
    assert pyarrow.record_batch(engine.drain_records()).to_pylist()[0]["publisher"] == "writer"
    assert engine.connect("next") == writer


def test_a_publisher_that_goes_is_forgotten_whatever_becomes_of_its_deliveries() -> None:
    engine = _core.Engine(output_capacity=1)
    topic = engine.declare("news")
    writer, reader = engine.connect("writer"), engine.connect("reader")
    engine.subscribe(reader, "news")
    flow = engine.advertise(writer, topic)
    for n in range(3):
        engine.publish(0, flow, b"%d" % n, timeout_ns=10)
    engine.disconnect(writer)
    pump(engine)
    assert engine.connect("second") != writer
    assert payloads(engine, reader, 100) == []
    assert engine.connect("third") == writer


def test_a_client_that_reads_itself_and_goes_leaves_nothing() -> None:
    engine = _core.Engine()
    topic, own = engine.declare("news"), engine.connect("own")
    engine.subscribe(own, "#")
    engine.publish(0, engine.advertise(own, topic), b"to myself")
    pump(engine)
    engine.disconnect(own)
    assert engine.stored == 0
    assert engine.connect("next") == own


def test_only_a_client_that_is_there_is_to_be_disconnected() -> None:
    engine = _core.Engine(output_capacity=1, overflow="disconnect")
    topic = engine.declare("news")
    flow = engine.advertise(engine.connect("writer"), topic)
    slow = engine.connect("slow")
    engine.subscribe(slow, "news")
    for _ in range(3):
        engine.publish(0, flow, b"")
    pump(engine)
    engine.disconnect(slow)
    assert engine.connect("innocent") == slow
    assert engine.take_overflowed() == []


@pytest.mark.parametrize("policy", INPUTS)
def test_a_flow_that_comes_back_keeps_its_order_and_its_bound(policy: str) -> None:
    engine = _core.Engine(input=policy)
    topic = engine.declare("news")
    writer, reader = engine.connect("writer"), engine.connect("reader")
    engine.subscribe(reader, "news")
    flow = engine.advertise(writer, topic, capacity=4)
    for n in range(3):
        engine.publish(0, flow, b"%d" % n)
    engine.unadvertise(flow)
    assert engine.views()["matrix_in"] == [[0], [0]]
    flow = engine.advertise(writer, topic, capacity=4)
    assert engine.views()["matrix_in"] == [[1], [0]]
    engine.publish(0, flow, b"3")
    with pytest.raises(QueueFull):
        engine.publish(0, flow, b"4")
    pump(engine)
    assert payloads(engine, reader) == [b"0", b"1", b"2", b"3"]
    engine.unadvertise(flow)
    engine.forget(topic)
    engine.disconnect(writer)
    assert engine.stored == 0
    assert engine.connect("next") == writer


def test_a_flow_can_come_back_again_and_again_without_more_memory() -> None:
    engine = _core.Engine()
    topic, writer = engine.declare("news"), engine.connect("writer")
    for _ in range(50):
        flow = engine.advertise(writer, topic, capacity=2)
        with contextlib.suppress(QueueFull):
            engine.publish(0, flow, b"more")
        engine.unadvertise(flow)
    assert engine.waiting == 2


@pytest.mark.parametrize("policy", INPUTS)
def test_a_message_that_was_too_large_takes_no_token(policy: str) -> None:
    engine = _core.Engine(input=policy)
    flow = engine.advertise(
        engine.connect("writer"), engine.declare("news"), min_sep_ns=100, max_size_bytes=4
    )
    with pytest.raises(TooLarge):
        engine.publish(0, flow, b"12345")
    engine.publish(0, flow, b"1234")
    assert engine.counters()["policed"] == 0


def test_a_new_topic_does_not_pay_for_the_one_that_had_its_number() -> None:
    """edf: the old topic flooded, so that its next tag was far in the future."""
    engine = _core.Engine(input="edf")
    writer, reader = engine.connect("writer"), engine.connect("reader")
    engine.subscribe(reader, "#")
    slow = _core.Share(period_ns=10**9, deadline_ns=10**9)
    old, other = engine.declare("old", slow), engine.declare("other", slow)
    flow, other_flow = engine.advertise(writer, old), engine.advertise(writer, other)
    for _ in range(100):
        engine.publish(0, flow, b"flood")
    pump(engine)
    payloads(engine, reader)
    engine.unadvertise(flow)
    engine.forget(old)
    new = engine.declare("new", _core.Share(period_ns=1_000, deadline_ns=1_000))
    assert new == old
    engine.publish(10, other_flow, b"in a second")
    engine.publish(10, engine.advertise(writer, new), b"in a microsecond")
    pump(engine, 10)
    assert payloads(engine, reader, 10) == [b"in a microsecond", b"in a second"]


def test_a_shorter_period_counts_from_the_next_tag_on() -> None:
    engine = _core.Engine(input="edf")
    writer, reader = engine.connect("writer"), engine.connect("reader")
    engine.subscribe(reader, "#")
    hour_ns = 3_600 * 10**9
    topic = engine.declare("topic", _core.Share(period_ns=hour_ns, deadline_ns=1_000))
    other = engine.declare("other", _core.Share(period_ns=10**9, deadline_ns=10**9))
    flow, other_flow = engine.advertise(writer, topic), engine.advertise(writer, other)
    engine.publish(0, flow, b"first")
    pump(engine)
    engine.allot(topic, _core.Share(period_ns=1_000, deadline_ns=1_000))
    engine.publish(2_000, other_flow, b"in a second")
    engine.publish(2_000, flow, b"in a microsecond")
    pump(engine, 2_000)
    assert payloads(engine, reader, 2_000) == [b"first", b"in a microsecond", b"in a second"]


def test_a_new_topic_starts_its_own_chain_of_virtual_tags() -> None:
    """fair: S = v for a topic without a past, whatever its number was used for in this busy period."""
    engine = _core.Engine(input="fair")
    writer, reader = engine.connect("writer"), engine.connect("reader")
    engine.subscribe(reader, "#")
    brief = _core.Share(rate=1, virtual_deadline=0)
    old, other = engine.declare("old", brief), engine.declare("other", _core.Share(rate=10))
    flow, other_flow = engine.advertise(writer, old), engine.advertise(writer, other)
    engine.publish(0, flow, b"old")
    for _ in range(5):
        engine.publish(0, other_flow, b"other")
    engine.step(0)
    assert payloads(engine, reader) == [b"old"]
    engine.unadvertise(flow)
    engine.forget(old)
    assert engine.declare("new", brief) == old
    engine.publish(0, engine.advertise(writer, old), b"new")
    pump(engine)
    assert payloads(engine, reader)[0] == b"new"


@pytest.mark.parametrize(
    "need",
    [
        {"subscriber_delay_ns": 1 << 70},
        {"nodenum": -1},
        {"nodenum": 1 << 40},
        {"bound_ns": -1},
        {"bound_ns": 1 << 70},
    ],
)
def test_a_need_out_of_range_names_its_field(need: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(need))):
        _core.Need(**need)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "message",
    [{"priority": 8}, {"priority": 300}, {"priority": -1}, {"timeout_ns": -1}, {"timeout_ns": 1 << 70},
     {"sent_ns": 1 << 70}, {"intended_ns": 1 << 70}, {"sequence": -1}],
)  # fmt: skip
def test_a_message_out_of_range_names_its_field(message: dict[str, int]) -> None:
    engine = _core.Engine()
    flow = engine.advertise(engine.connect("writer"), engine.declare("news"))
    with pytest.raises(InvalidInput, match=next(iter(message))):
        engine.publish(0, flow, b"", **message)  # type: ignore[arg-type]
    assert engine.waiting == 0


@pytest.mark.parametrize("number", [-1, 1 << 32, 1 << 70])
def test_a_number_that_nothing_can_have_is_unknown(number: int) -> None:
    engine = _core.Engine()
    topic, client = engine.declare("news"), engine.connect("writer")
    attempts = [
        lambda: engine.advertise(number, topic),
        lambda: engine.advertise(client, number),
        lambda: engine.unadvertise(number),
        lambda: engine.disconnect(number),
        lambda: engine.forget(number),
        lambda: engine.allot(number, _core.Share()),
        lambda: engine.unsubscribe(number),
        lambda: engine.subscribe(number, "#"),
        lambda: engine.publish(0, number, b""),
        lambda: engine.counters(number),
    ]
    for attempt in attempts:
        with pytest.raises(GiustoError):
            attempt()


def test_a_client_may_have_any_number_of_subscriptions_beside_one_that_pays() -> None:
    engine = _core.Engine()
    flow = engine.advertise(engine.connect("writer"), engine.declare("news"))
    reader = engine.connect("reader")
    engine.subscribe(reader, "news", need=_core.Need(deadline_ns=10))
    for _ in range(65_536):
        engine.subscribe(reader, "news")
    engine.publish(0, flow, b"for all of them")
    pump(engine)
    assert payloads(engine, reader, 11) == [b"for all of them"], "those that ask for nothing still want it"


def test_subscriptions_with_terms_are_refused_before_a_message_would_have_too_many() -> None:
    engine = _core.Engine()
    flow = engine.advertise(engine.connect("writer"), engine.declare("news"))
    reader, need = engine.connect("reader"), _core.Need(deadline_ns=10)
    first, *_ = [engine.subscribe(reader, "news", need=need) for _ in range(65_535)]
    with pytest.raises(InvalidInput, match="terms"):
        engine.subscribe(reader, "news", need=need)
    engine.subscribe(reader, "news")
    engine.publish(0, flow, b"for all of them")
    pump(engine)
    assert payloads(engine, reader) == [b"for all of them"]
    engine.unsubscribe(first)
    engine.subscribe(reader, "news", need=need)


def test_a_flow_that_comes_back_does_not_come_with_a_full_bucket() -> None:
    engine = _core.Engine()
    client, topic = engine.connect("writer"), engine.declare("news")
    passed = 0
    for _ in range(50):
        flow = engine.advertise(client, topic, min_sep_ns=1_000_000_000)
        try:
            engine.publish(0, flow, b"again")
            passed += 1
        except Policed:
            pass
        while engine.step(0) is not None:
            pass
        engine.unadvertise(flow)
    assert passed == 1
    engine.forget(topic)
    other = engine.advertise(client, engine.declare("other"), min_sep_ns=1_000_000_000)
    engine.publish(0, other, b"another topic has a bucket of its own")
