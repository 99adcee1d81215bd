"""Two classes of traffic: guarded topics go first, and moving a topic loses and reorders nothing."""

from __future__ import annotations

import pyarrow
import pytest

from giusto import _core
from giusto.contract.offer import HEADER_BYTES
from giusto.errors import InvalidInput, StoreFull, Unknown

INPUTS = [name for name, _ in _core.input_policies()]
OUTPUTS = ["fifo", "priority", "lrt", "mtep"]


@pytest.fixture(params=INPUTS)
def engine(request: pytest.FixtureRequest) -> _core.Engine:
    return _core.Engine(input=request.param)


def flow_on(engine: _core.Engine, topic: int, name: str, **offer: int) -> int:
    return engine.advertise(engine.connect(name), topic, **offer)


def reader_of(engine: _core.Engine, *patterns: str) -> int:
    reader = engine.connect("reader")
    for pattern in patterns:
        engine.subscribe(reader, pattern)
    return reader


def pump(engine: _core.Engine) -> None:
    while engine.step(0) is not None:
        pass


def received(engine: _core.Engine, client: int) -> list[bytes]:
    payloads = []
    while (delivery := engine.take(0, client)) is not None:
        payloads.append(delivery.payload)
    return payloads


def test_guarded_messages_go_before_the_rest_through_both_stages(engine: _core.Engine) -> None:
    rest, guarded = engine.declare("rest", _core.Share(weight=9, rate=9)), engine.declare("guarded")
    assert engine.guard(guarded, True)
    reader = reader_of(engine, "#")
    a, b = flow_on(engine, rest, "a"), flow_on(engine, guarded, "b")
    for n in range(5):
        engine.publish(0, a, b"r%d" % n)
    assert engine.step(0) == ("forwarded", 1)
    for n in range(2):
        engine.publish(0, b, b"g%d" % n)
    assert engine.waiting_guarded == 2
    pump(engine)
    assert received(engine, reader) == [b"g0", b"g1", b"r0", b"r1", b"r2", b"r3", b"r4"]
    assert engine.waiting_guarded == engine.stored == 0


def test_a_step_for_guarded_messages_leaves_the_rest_alone(engine: _core.Engine) -> None:
    rest, guarded = engine.declare("rest"), engine.declare("guarded")
    engine.guard(guarded, True)
    a, b = flow_on(engine, rest, "a"), flow_on(engine, guarded, "b")
    engine.publish(0, a, b"r")
    assert engine.step_guarded(0) is None
    engine.publish(0, b, b"g")
    assert engine.step_guarded(0) == ("forwarded", 0)
    assert engine.step_guarded(0) is None
    assert engine.waiting == 1


def test_guarded_messages_are_served_in_order_whatever_their_priority(engine: _core.Engine) -> None:
    topic = engine.declare("t")
    engine.guard(topic, True)
    reader, flow = reader_of(engine, "t"), flow_on(engine, topic, "a")
    for priority in (0, 7, 3):
        engine.publish(0, flow, b"%d" % priority, priority=priority)
    pump(engine)
    deliveries = [engine.take(0, reader) for _ in range(3)]
    assert [delivery.priority for delivery in deliveries if delivery] == [0, 7, 3]


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("input", INPUTS)
def test_a_topic_that_becomes_guarded_takes_all_that_waits_with_it_in_order(input: str, output: str) -> None:
    engine = _core.Engine(input=input, output=output)
    one, two = engine.declare("one"), engine.declare("two")
    reader = reader_of(engine, "one", "two")
    a, b = flow_on(engine, one, "a"), flow_on(engine, two, "b")
    for n in range(4):
        engine.publish(0, a, b"a%d" % n)
        engine.publish(0, b, b"b%d" % n)
    for _ in range(4):
        engine.step(0)
    assert engine.guard(two, True)
    engine.publish(0, b, b"b4")
    assert engine.waiting_for(reader) == 4
    pump(engine)
    assert received(engine, reader) == [b"b%d" % n for n in range(5)] + [b"a%d" % n for n in range(4)]
    assert engine.counters()["delivered"] == 9
    assert engine.stored == 0


def test_a_topic_goes_back_only_when_nothing_of_it_waits(engine: _core.Engine) -> None:
    topic = engine.declare("t")
    reader, flow = reader_of(engine, "t"), flow_on(engine, topic, "a")
    assert engine.guard(topic, True)
    assert engine.guard(topic, True)
    engine.publish(0, flow, b"x")
    assert not engine.guard(topic, False)
    engine.step(0)
    assert not engine.guard(topic, False)
    assert received(engine, reader) == [b"x"]
    assert engine.guard(topic, False)
    engine.publish(0, flow, b"y")
    assert engine.waiting_guarded == 0
    pump(engine)
    assert received(engine, reader) == [b"y"]


def test_a_publisher_that_leaves_a_guarded_topic_is_still_served(engine: _core.Engine) -> None:
    topic = engine.declare("t")
    reader, flow = reader_of(engine, "t"), flow_on(engine, topic, "a")
    engine.publish(0, flow, b"x")
    engine.unadvertise(flow)
    assert engine.guard(topic, True)
    pump(engine)
    assert received(engine, reader) == [b"x"]
    engine.forget(topic)
    again = engine.declare("t")
    engine.publish(0, flow_on(engine, again, "b"), b"y")
    assert engine.waiting_guarded == 0
    pump(engine)
    assert received(engine, reader) == [b"y"]


def test_what_waits_for_a_subscriber_that_leaves_is_abandoned_in_both_queues(engine: _core.Engine) -> None:
    rest, guarded = engine.declare("rest"), engine.declare("guarded")
    engine.guard(guarded, True)
    reader = reader_of(engine, "#")
    for topic, name in ((rest, "a"), (guarded, "b")):
        engine.publish(0, flow_on(engine, topic, name), b"x")
    pump(engine)
    assert engine.waiting_for(reader) == 2
    engine.disconnect(reader)
    assert [engine.counters(topic)["abandoned"] for topic in (rest, guarded)] == [1, 1]
    assert engine.guard(guarded, False)
    assert engine.stored == 0


def test_a_full_guarded_queue_drops_its_own_oldest() -> None:
    engine = _core.Engine(output_capacity=2)
    rest, guarded = engine.declare("rest"), engine.declare("guarded")
    engine.guard(guarded, True)
    reader = reader_of(engine, "#")
    a, b = flow_on(engine, rest, "a"), flow_on(engine, guarded, "b")
    engine.publish(0, a, b"r")
    for n in range(3):
        engine.publish(0, b, b"g%d" % n)
    pump(engine)
    assert received(engine, reader) == [b"g1", b"g2", b"r"]
    assert engine.counters(guarded)["dropped"] == 1


def test_each_class_has_room_for_bytes_of_its_own_and_counts_what_is_beyond() -> None:
    engine = _core.Engine(output_bytes=2 * (HEADER_BYTES + 2))
    rest, guarded = engine.declare("rest"), engine.declare("guarded")
    engine.guard(guarded, True)
    reader = reader_of(engine, "#")
    a, b = flow_on(engine, rest, "a"), flow_on(engine, guarded, "b")
    for n in range(4):
        engine.publish(0, a, b"r%d" % n)
        engine.publish(0, b, b"g%d" % n)
    pump(engine)
    assert received(engine, reader) == [b"g2", b"g3", b"r2", b"r3"]
    assert [engine.counters(topic)["dropped"] for topic in (rest, guarded)] == [2, 2]
    engine.publish(0, a, bytes(200))
    pump(engine)
    assert received(engine, reader) == [bytes(200)]


def test_a_share_that_does_not_fit_beside_the_guarded_ones_is_refused_as_a_whole() -> None:
    engine = _core.Engine(input="smooth")
    topics = [
        engine.declare(name, _core.Share(weight=weight)) for name, weight in (("a", 65_535), ("b", 65_534))
    ]
    assert all(engine.guard(topic, True) for topic in topics)
    other = engine.declare("c", _core.Share(weight=65_521))
    with pytest.raises(InvalidInput, match="weight"):
        engine.guard(other, True)
    flow = flow_on(engine, other, "x")
    engine.publish(0, flow, b"x")
    assert engine.waiting_guarded == 0
    assert engine.step(0) == ("forwarded", 0)


def test_a_topic_that_is_not_there_cannot_be_guarded(engine: _core.Engine) -> None:
    with pytest.raises(Unknown):
        engine.guard(3, True)


def test_a_store_that_the_rest_has_filled_has_room_for_guarded_messages() -> None:
    engine = _core.Engine(message_capacity=10)
    rest, guarded = engine.declare("rest"), engine.declare("guarded")
    engine.guard(guarded, True)
    flood = engine.advertise(engine.connect("flooder"), rest, capacity=1_000)
    alarm = engine.advertise(engine.connect("monitor"), guarded, min_sep_ns=1_000_000, burst=2)
    for _ in range(10):
        engine.publish(0, flood, b"x")
    with pytest.raises(StoreFull):
        engine.publish(0, flood, b"x")
    engine.publish(0, alarm, b"SpO2 low")
    assert engine.counters(guarded)["ingested"] == 1


def test_what_waited_before_the_contract_was_not_promised_anything() -> None:
    for policy in INPUTS:
        engine = _core.Engine(input=policy, record_capacity=100)
        topic = engine.declare("t")
        flow, reader = flow_on(engine, topic, "a"), engine.connect("reader")
        for _ in range(3):
            engine.publish(0, flow, b"old")
        engine.guard(topic, True)
        engine.subscribe(reader, "t", need=_core.Need(bound_ns=40))
        engine.publish(5, flow, b"behind")
        assert engine.waiting_guarded == 0
        pump(engine)
        assert received(engine, reader) == [b"old"] * 3 + [b"behind"]
        engine.publish(9, flow, b"new")
        assert engine.waiting_guarded == 1
        pump(engine)
        assert received(engine, reader) == [b"new"]
        rows = pyarrow.record_batch(engine.drain_records()).to_pylist()
        assert [row["bound_ns"] for row in rows] == [None] * 4 + [40]


def test_messages_that_waited_make_no_guarded_message_wait(engine: _core.Engine) -> None:
    share = _core.Share(period_ns=1, deadline_ns=5)
    first, second, rest = (engine.declare(name, share) for name in ("first", "second", "rest"))
    engine.guard(first, True)
    reader = reader_of(engine, "#")
    a, b, c = (flow_on(engine, topic, f"p{topic}") for topic in (first, second, rest))
    for n in range(50):
        engine.publish(n, b, b"old")
        engine.publish(n, c, b"rest")
    engine.guard(second, True)
    engine.publish(99, a, b"now")
    payloads = []
    while engine.step(100) is not None:
        payloads += received(engine, reader)
    assert payloads == [b"now"] + [b"old"] * 50 + [b"rest"] * 50


def test_deliveries_that_waited_make_no_guarded_delivery_wait_and_stay_in_order(
    engine: _core.Engine,
) -> None:
    first, second = engine.declare("first"), engine.declare("second")
    engine.guard(first, True)
    reader = reader_of(engine, "#")
    a, b = flow_on(engine, first, "a"), flow_on(engine, second, "b")
    engine.publish(0, b, b"b0")
    pump(engine)
    engine.guard(second, True)
    for flow, payload in ((b, b"b1"), (a, b"a0")):
        engine.publish(0, flow, payload)
    pump(engine)
    assert received(engine, reader) == [b"a0", b"b0", b"b1"]
    for flow, payload in ((b, b"b2"), (a, b"a1")):
        engine.publish(0, flow, payload)
        pump(engine)
    assert received(engine, reader) == [b"b2", b"a1"]


@pytest.mark.parametrize("overflow", ["drop_oldest", "drop_new", "disconnect"])
@pytest.mark.parametrize("room", [{"output_capacity": 4}, {"output_bytes": 4 * (HEADER_BYTES + 1)}])
def test_coming_under_contract_loses_nothing_that_waits_for_a_client(
    overflow: str, room: dict[str, int]
) -> None:
    engine = _core.Engine(overflow=overflow, **room)
    topics = [engine.declare(f"t{n}") for n in range(3)]
    engine.guard(topics[0], True)
    reader = reader_of(engine, "#")
    flows = [flow_on(engine, topic, f"p{topic}") for topic in topics]
    sent = []
    for n, flow in enumerate(flows):
        for _ in range(4):
            engine.publish(0, flow, b"%d" % n)
            sent.append(b"%d" % n)
        pump(engine)
        engine.guard(topics[n], True)
    assert engine.take_overflowed() == []
    assert received(engine, reader) == sent
    for flow in flows:
        engine.publish(0, flow, b"more")
    pump(engine)
    assert received(engine, reader) == [b"more"] * 3


@pytest.mark.parametrize("policy", ["twrr", "smooth"])
def test_a_topic_joins_the_guarded_ones_when_none_of_their_messages_waits(policy: str) -> None:
    engine = _core.Engine(input=policy)
    busy, new = (engine.declare(name, _core.Share(weight=10)) for name in ("busy", "new"))
    engine.guard(busy, True)
    reader = reader_of(engine, "#")
    a, b = flow_on(engine, busy, "a"), flow_on(engine, new, "b")
    for _ in range(3):
        engine.publish(0, a, b"a")
    engine.step(0)
    assert engine.guard(new, True)
    engine.publish(0, b, b"b")
    assert engine.waiting_guarded == 2
    pump(engine)
    assert received(engine, reader) == [b"a", b"a", b"a", b"b"]
    engine.publish(0, b, b"b")
    assert engine.waiting_guarded == 1
    pump(engine)
    assert received(engine, reader) == [b"b"]
    assert engine.guard(new, False)


def test_a_topic_that_waits_to_join_can_leave_again(engine: _core.Engine) -> None:
    busy, new = engine.declare("busy"), engine.declare("new")
    engine.guard(busy, True)
    a = flow_on(engine, busy, "a")
    engine.publish(0, a, b"a")
    assert engine.guard(new, True)
    assert engine.guard(new, False)
    assert engine.guard(new, True)
    engine.forget(new)
    again = engine.declare("again")
    pump(engine)
    b = flow_on(engine, again, "b")
    engine.publish(0, b, b"rest")
    assert (engine.waiting, engine.waiting_guarded) == (1, 0)
    pump(engine)
    assert engine.stored == 0
