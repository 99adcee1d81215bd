"""The engine: the five primitives, the way of a message, and what is counted when it ends early."""

from __future__ import annotations

import pyarrow
import pytest

from giusto import _core
from giusto.errors import (
    Duplicate,
    FilterSyntax,
    InvalidInput,
    Policed,
    ProtocolError,
    QueueFull,
    StoreFull,
    TooLarge,
    Unknown,
)

INPUTS = [name for name, _ in _core.input_policies()]


@pytest.fixture(params=INPUTS)
def engine(request: pytest.FixtureRequest) -> _core.Engine:
    return _core.Engine(input=request.param, record_capacity=1_000, run="test", node="broker")


def pump(engine: _core.Engine, now: int = 0) -> None:
    while engine.step(now) is not None:
        pass


def received(engine: _core.Engine, client: int, now: int = 0) -> list[bytes]:
    payloads = []
    while (delivery := engine.take(now, client)) is not None:
        payloads.append(delivery.payload)
    return payloads


def pair(engine: _core.Engine, **offer: int) -> tuple[int, int, int]:
    """A publisher's flow on `news`, and a subscriber of it."""
    topic = engine.declare("news")
    flow = engine.advertise(engine.connect("writer"), topic, **offer)
    reader = engine.connect("reader")
    engine.subscribe(reader, "news")
    return topic, flow, reader


def test_a_message_goes_from_publisher_to_subscriber(engine: _core.Engine) -> None:
    topic, flow, reader = pair(engine)
    engine.publish(5, flow, b"hello", sequence=9, priority=2, timeout_ns=100)
    assert engine.step(6) == ("forwarded", 1)
    delivery = engine.take(7, reader)
    assert delivery is not None
    assert (delivery.topic, delivery.source, delivery.payload) == (topic, 0, b"hello")
    assert (delivery.sequence, delivery.priority, delivery.sent_ns, delivery.timeout_ns) == (9, 2, 5, 100)
    assert engine.take(7, reader) is None
    assert engine.step(8) is None
    assert engine.stored == 0


def test_the_matrices_are_those_of_figures_4_and_7() -> None:
    engine = _core.Engine()
    topics = [engine.declare(name, _core.Share(weight=w)) for name, w in (("A", 4), ("B", 3), ("C", 2))]
    matrix_in = [[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]]
    matrix_out = [[1, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 0]]
    clients = [engine.connect(f"client {n}") for n in range(1, 5)]
    flows = {}
    for client, row_in, row_out in zip(clients, matrix_in, matrix_out, strict=True):
        flows |= {
            (client, t): engine.advertise(client, t) for t, one in zip(topics, row_in, strict=True) if one
        }
        for name, one in zip("ABC", row_out, strict=True):
            if one:
                engine.subscribe(client, name)
    views = engine.views()
    assert (views["matrix_in"], views["matrix_out"]) == (matrix_in, matrix_out)
    assert [share.weight for share in views["shares"]] == [4, 3, 2]
    engine.unadvertise(flows[clients[0], topics[0]])
    engine.allot(topics[1], _core.Share(weight=7))
    views = engine.views()
    assert views["matrix_in"][0] == [0, 0, 1]
    assert [share.weight for share in views["shares"]] == [4, 7, 2]


def test_a_client_gets_one_copy_whichever_of_its_subscriptions_match(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine)
    more = [engine.subscribe(reader, pattern) for pattern in ("+", "#")]
    engine.publish(0, flow, b"once")
    pump(engine)
    delivery = engine.take(0, reader)
    assert delivery is not None
    assert delivery.subscriptions == [0, *more]
    assert engine.take(0, reader) is None


def test_filters_select_by_content(engine: _core.Engine) -> None:
    topic = engine.declare("stock")
    flow = engine.advertise(engine.connect("exchange"), topic)
    reader = engine.connect("trader")
    engine.subscribe(reader, "stock", filter='symbol = "Legend" and change > 1.0')
    for change in (0.5, 1.5):
        engine.publish(
            0,
            flow,
            str(change).encode(),
            attributes=_core.encode_attributes({"symbol": "Legend", "change": change}),
        )
    engine.publish(0, flow, b"no attributes")
    pump(engine)
    assert received(engine, reader) == [b"1.5"]
    assert engine.counters()["unmatched"] == 2


def test_filters_and_attributes_can_be_given_as_values(engine: _core.Engine) -> None:
    _, flow, _ = pair(engine)
    reader = engine.connect("chosen")
    engine.subscribe(reader, "#", filter=_core.Filter("level >= 3"))
    for level in (2, 3):
        engine.publish(0, flow, b"%d" % level, attributes={"level": level})
    pump(engine)
    assert received(engine, reader) == [b"3"]


def test_messages_of_a_flow_are_counted_unless_they_say_otherwise(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine)
    for sequence in (None, None, 40, None):
        engine.publish(0, flow, b"", sequence=sequence)
    pump(engine)
    numbers = []
    while (delivery := engine.take(0, reader)) is not None:
        numbers.append(delivery.sequence)
    assert numbers == [0, 1, 40, 41]


def test_one_frame_is_taken_in_at_a_time(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine)
    frame = _core.encode_data(b"payload", stream=flow, sequence=0, t_sent_ns=0)
    engine.ingest(0, 0, frame)
    for wrong in (frame + frame, frame + b"zz", frame[:-1], b""):
        with pytest.raises(ProtocolError):
            engine.ingest(0, 0, wrong)
    pump(engine)
    assert received(engine, reader) == [b"payload"]


def test_views_say_which_numbers_their_rows_have(engine: _core.Engine) -> None:
    for name in ("a", "b", "c"):
        engine.connect(name)
    engine.disconnect(1)
    assert (engine.views()["client_numbers"], engine.views()["clients"]) == ([0, 2], ["a", "c"])


def test_a_flow_that_breaks_its_offer_is_policed(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine, min_sep_ns=100, burst=2)
    for now in (0, 0, 100):
        engine.publish(now, flow, b"fine")
    with pytest.raises(Policed, match="faster than it offered"):
        engine.publish(150, flow, b"too soon")
    pump(engine, 150)
    assert len(received(engine, reader, 150)) == 3
    assert engine.counters()["policed"] == 1


def test_a_full_queue_and_a_large_message_are_refused_and_counted(engine: _core.Engine) -> None:
    _, flow, _ = pair(engine, capacity=2, max_size_bytes=10)
    engine.publish(0, flow, b"0123456789")
    engine.publish(0, flow, b"1")
    with pytest.raises(QueueFull):
        engine.publish(0, flow, b"2")
    with pytest.raises(TooLarge, match="size_bytes = 11: expected at most 10 bytes"):
        engine.publish(0, flow, b"0123456789x")
    assert engine.counters()["overflow"] == 2
    assert engine.waiting == 2


def test_all_flows_together_store_a_bounded_number_of_messages() -> None:
    engine = _core.Engine(message_capacity=3)
    topic = engine.declare("news")
    flows = [engine.advertise(engine.connect(f"writer {n}"), topic) for n in range(4)]
    for flow in flows[:3]:
        engine.publish(0, flow, b"kept")
    with pytest.raises(StoreFull, match="3 messages are stored"):
        engine.publish(0, flows[3], b"one too many")
    pump(engine)
    engine.publish(0, flows[3], b"now there is room")
    assert engine.counters()["overflow"] == 1


def test_a_message_that_is_of_no_use_any_more_is_not_forwarded(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine)
    engine.publish(0, flow, b"old", timeout_ns=10)
    assert engine.step(11) == ("expired", 0)
    engine.publish(20, flow, b"waits too long", timeout_ns=10)
    assert engine.step(25) == ("forwarded", 1)
    assert received(engine, reader, 31) == []
    counters = engine.counters()
    assert (counters["expired"], counters["expired_waiting"]) == (1, 1)
    assert engine.stored == 0


@pytest.mark.parametrize(
    ("overflow", "kept"),
    [("drop_oldest", [b"2", b"3"]), ("drop_new", [b"0", b"1"]), ("disconnect", [b"0", b"1"])],
)
def test_a_slow_subscriber_loses_its_own_messages_only(overflow: str, kept: list[bytes]) -> None:
    engine = _core.Engine(output_capacity=2, overflow=overflow)
    _, flow, reader = pair(engine)
    other = engine.connect("quick")
    engine.subscribe(other, "news")
    quick = []
    for n in range(4):
        engine.publish(0, flow, b"%d" % n)
        pump(engine)
        quick += received(engine, other)
    assert received(engine, reader) == kept
    assert quick == [b"0", b"1", b"2", b"3"]
    assert engine.counters()["dropped"] == 2
    assert engine.take_overflowed() == ([reader] if overflow == "disconnect" else [])


def test_what_a_client_published_outlives_it(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine)
    engine.publish(0, flow, b"last words")
    engine.disconnect(0)
    assert engine.connect("writer") != 0, "its number is not free while a message of it waits"
    pump(engine)
    assert received(engine, reader) == [b"last words"]
    with pytest.raises(Unknown, match="flow"):
        engine.publish(0, flow, b"from nobody")
    assert engine.connect("next") == 0


def test_what_waits_for_a_client_that_goes_is_abandoned(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine)
    engine.publish(0, flow, b"never read")
    pump(engine)
    engine.disconnect(reader)
    assert engine.counters()["abandoned"] == 1
    assert engine.stored == 0
    assert engine.views()["clients"] == ["writer"]


def test_a_topic_number_is_free_when_its_last_delivery_is_gone(engine: _core.Engine) -> None:
    topic, flow, reader = pair(engine)
    engine.publish(0, flow, b"on its way")
    pump(engine)
    with pytest.raises(InvalidInput, match="nobody publishes"):
        engine.forget(topic)
    engine.unadvertise(flow)
    engine.forget(topic)
    assert engine.declare("other") != topic
    assert received(engine, reader) == [b"on its way"]
    assert engine.declare("third") == topic
    assert engine.counters()["delivered"] == 1


@pytest.mark.parametrize("policy", INPUTS)
def test_large_messages_take_several_quanta(policy: str) -> None:
    engine = _core.Engine(input=policy, fragment_bytes=100)
    _, flow, reader = pair(engine)
    engine.publish(0, flow, bytes(250))
    steps = [engine.step(n) for n in range(4)]
    assert steps == [("fragment", 0)] * 2 + [("forwarded", 1), None]
    assert received(engine, reader) == [bytes(250)]


def test_urgent_messages_of_a_topic_overtake_normal_ones(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine)
    for n, priority in enumerate((0, 0, 3, 7, 3)):
        engine.publish(0, flow, b"%d" % n, priority=priority)
    pump(engine)
    assert received(engine, reader) == [b"3", b"2", b"4", b"0", b"1"]


def test_records_say_what_happened(engine: _core.Engine) -> None:
    topic, flow, reader = pair(engine, min_sep_ns=10)
    engine.guard(topic, True)
    strict = engine.connect("strict")
    engine.subscribe(strict, "news", need=_core.Need(deadline_ns=50, price=3.0, penalty=0.5, bound_ns=40))
    engine.publish(0, flow, b"12345", sequence=1)
    with pytest.raises(Policed):
        engine.publish(1, flow, b"12345", sequence=2)
    pump(engine, 20)
    received(engine, reader, 30)
    received(engine, strict, 49)
    engine.publish(100, flow, b"12345", sequence=3, sent_ns=60)
    pump(engine, 105)
    received(engine, strict, 110)
    rows = pyarrow.record_batch(engine.drain_records()).to_pylist()
    assert [(row["sequence"], row["subscriber"], row["outcome"]) for row in rows] == [
        (2, None, "policed"),
        (1, "reader", "delivered"),
        (1, "strict", "delivered"),
        (3, "strict", "delivered"),
    ]
    last = rows[2]
    assert (last["run"], last["node"], last["topic"], last["publisher"]) == (
        "test",
        "broker",
        "news",
        "writer",
    )
    assert (last["t_sent_ns"], last["t_ingress_ns"], last["t_selected_ns"], last["t_egress_ns"]) == (
        0,
        0,
        20,
        49,
    )
    assert (last["deadline_ns"], last["bound_ns"], last["price"], last["penalty"], last["min_sep_ns"]) == (
        50,
        40,
        3.0,
        0.5,
        10,
    )
    assert rows[1]["deadline_ns"] is None
    assert engine.counters(topic)["delivered"] == 3


def test_a_delivery_after_its_deadline_is_late() -> None:
    engine = _core.Engine(expiry="none", record_capacity=10)
    _, flow, _ = pair(engine)
    strict = engine.connect("strict")
    engine.subscribe(strict, "news", need=_core.Need(deadline_ns=50))
    engine.publish(0, flow, b"slow")
    pump(engine)
    received(engine, strict, 51)
    assert pyarrow.record_batch(engine.drain_records()).to_pylist()[0]["outcome"] == "late"
    assert engine.counters()["late"] == 1


def refused(engine: _core.Engine) -> list[tuple[type[Exception], str, object]]:
    share = _core.Share
    return [
        (Duplicate, "topic news", lambda: engine.declare("news")),
        (Duplicate, "client writer", lambda: engine.connect("writer")),
        (Duplicate, "flow", lambda: engine.advertise(0, 0)),
        (Unknown, "topic 7", lambda: engine.advertise(0, 7)),
        (Unknown, "client 7", lambda: engine.advertise(7, 0)),
        (Unknown, "client 7", lambda: engine.subscribe(7, "news")),
        (Unknown, "flow 7", lambda: engine.unadvertise(7)),
        (Unknown, "subscription", lambda: engine.unsubscribe(7)),
        (Unknown, "topic 7", lambda: engine.allot(7, share())),
        (Unknown, "flow 7", lambda: engine.publish(0, 7, b"")),
        (InvalidInput, "client", lambda: engine.disconnect(-1)),
        (InvalidInput, "now", lambda: engine.publish(1 << 70, 0, b"")),
        (InvalidInput, "priority", lambda: engine.publish(0, 0, b"", priority=8)),
        (InvalidInput, "timeout_ns", lambda: engine.publish(0, 0, b"", timeout_ns=-1)),
        (InvalidInput, "sequence", lambda: engine.publish(0, 0, b"", sequence=-1)),
        (InvalidInput, "topic", lambda: engine.declare("a//b")),
        (InvalidInput, "topic", lambda: engine.declare("a/+/b")),
        (InvalidInput, "pattern", lambda: engine.subscribe(1, "a/#/b")),
        (FilterSyntax, "position", lambda: engine.subscribe(1, "news", filter="x >")),
        (InvalidInput, "weight", lambda: engine.allot(0, share(weight=0))),
        (InvalidInput, "weight", lambda: engine.allot(0, share(weight=65_536))),
        (InvalidInput, "rate", lambda: engine.allot(0, share(rate=-1))),
        (InvalidInput, "period_ns", lambda: engine.allot(0, share(period_ns=0))),
        (InvalidInput, "deadline_ns", lambda: engine.allot(0, share(deadline_ns=1 << 70))),
        (InvalidInput, "capacity", lambda: engine.advertise(1, 0, capacity=0)),
        (InvalidInput, "min_sep_ns", lambda: engine.advertise(1, 0, min_sep_ns=0)),
        (InvalidInput, "burst", lambda: engine.advertise(1, 0, min_sep_ns=1, burst=0)),
        (InvalidInput, "min_sep_ns", lambda: engine.advertise(1, 0, burst=2)),
        (InvalidInput, "price", lambda: engine.subscribe(1, "news", need=_core.Need(price=float("nan")))),
        (InvalidInput, "penalty", lambda: engine.subscribe(1, "news", need=_core.Need(penalty=-1.0))),
        (InvalidInput, "input", lambda: _core.Engine(input="wrr")),
        (InvalidInput, "output", lambda: _core.Engine(output="lifo")),
        (InvalidInput, "client", lambda: engine.connect("")),
        (InvalidInput, "client", lambda: engine.connect("x" * 256)),
        (Unknown, "client 7", lambda: engine.take(0, 7)),
        (Unknown, "client 7", lambda: engine.waiting_for(7)),
        (InvalidInput, "mean_ns_per_kb", lambda: _core.Need(mean_ns_per_kb=float("inf"))),
        (InvalidInput, "price", lambda: _core.Need(price=10**400)),
        (InvalidInput, "overflow", lambda: _core.Engine(overflow="block")),
        (InvalidInput, "fragment_bytes", lambda: _core.Engine(fragment_bytes=0)),
        (InvalidInput, "epsilon", lambda: _core.Engine(epsilon=float("nan"))),
    ]


def test_bad_input_names_the_field_and_changes_nothing(engine: _core.Engine) -> None:
    _, flow, reader = pair(engine)
    engine.publish(0, flow, b"still here")
    before = engine.views(), engine.counters(), engine.waiting
    for kind, words, attempt in refused(engine):
        with pytest.raises(kind, match=words):
            attempt()  # type: ignore[operator]
    assert (engine.views(), engine.counters(), engine.waiting) == before
    pump(engine)
    assert received(engine, reader) == [b"still here"]


@pytest.mark.parametrize(("policy", "share", "field"), [
    ("fair", _core.Share(rate=3, virtual_deadline=_core.TICKS), "virtual_deadline"),
    ("edf", _core.Share(period_ns=1 << 62), "period_ns"),
])  # fmt: skip
def test_a_share_that_the_policy_cannot_give_is_refused(policy: str, share: _core.Share, field: str) -> None:
    engine = _core.Engine(input=policy)
    with pytest.raises(InvalidInput, match=field):
        engine.declare("news", share)
    assert engine.views()["topics"] == []


def test_cycles_that_would_be_too_long_are_refused() -> None:
    engine = _core.Engine(input="smooth")
    for n in range(17):
        engine.declare(f"even/{n}", _core.Share(weight=65_534))
    with pytest.raises(InvalidInput, match="common divisor"):
        engine.declare("odd", _core.Share(weight=65_533))
    engine.declare("even/17", _core.Share(weight=65_534))
