"""The broker's data plane as the control plane sees it: in memory, and in its own thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from giusto import _core
from giusto.errors import Closed, Duplicate, InvalidInput, Overload, Unknown

WATCHDOG_NS = 60_000_000_000


@pytest.fixture
def plane() -> _core.MemoryPlane:
    return _core.MemoryPlane()


def join(plane: _core.MemoryPlane, name: str) -> int:
    """A connection that is a client, and has read all that it was sent."""
    conn = plane.open()
    plane.feed(0, conn, _core.encode_hello() + _core.encode_control(b"connect"))
    plane.connect(conn, name)
    plane.drain(0, conn)
    plane.events(0)
    return conn


def data(flow: int, sequence: int, payload: bytes = b"x") -> bytes:
    return _core.encode_data(payload, stream=flow, sequence=sequence, t_sent_ns=0)


def frames(data: bytes) -> list[object]:
    decoder = _core.FrameDecoder()
    decoder.feed(data)
    return list(decoder)


def run(plane: _core.MemoryPlane, now: int) -> int:
    return sum(1 for _ in iter(lambda: plane.step(now), False))


def test_events_are_plain_tuples(plane: _core.MemoryPlane) -> None:
    conn = plane.open("memory://a")
    plane.feed(0, conn, _core.encode_hello() + _core.encode_control(b"body"))
    plane.hang_up(1, conn)
    assert plane.events(0) == [
        ("opened", conn, "memory://a"),
        ("control", conn, b"body"),
        ("closed", conn, "closed by the client"),
    ]
    assert plane.events(0) == []


def test_a_message_goes_from_client_to_client(plane: _core.MemoryPlane) -> None:
    publisher, subscriber = join(plane, "publisher"), join(plane, "subscriber")
    topic = plane.declare("ward/3/alarm", _core.Share(weight=4))
    flow = plane.advertise(publisher, topic, capacity=8)
    plane.subscribe(subscriber, "ward/+/alarm")
    plane.feed(1_000, publisher, data(flow, 7, b"SpO2 low"))
    assert run(plane, 2_000) == 1
    (message,) = frames(plane.drain(31_000, subscriber))
    assert isinstance(message, _core.Data)
    assert (message.stream, message.sequence, message.payload) == (topic, 7, b"SpO2 low")
    status = plane.status()
    assert status["topics"][topic]["delay_max_ns"] == 30_000
    assert status["topics"][topic]["counters"]["delivered"] == status["totals"]["delivered"] == 1
    assert status["clients"] == {
        publisher: {"served": 1, "waiting": 0},
        subscriber: {"served": 0, "waiting": 0},
    }
    assert plane.views()["matrix_in"] == [[1], [0]]


def test_a_rate_is_a_count_per_period(plane: _core.MemoryPlane) -> None:
    conn = join(plane, "publisher")
    flow = plane.advertise(conn, plane.declare("t"), count=2, period_ns=1_000, burst=2)
    plane.feed(0, conn, b"".join(data(flow, n) for n in range(3)))
    plane.feed(500, conn, data(flow, 3))
    assert plane.status()["totals"]["ingested"] == 3
    assert plane.losses() == [(conn, 0, flow, "policed", 1)]
    assert plane.losses() == []


@pytest.mark.parametrize(
    ("offer", "field"),
    [
        ({"min_sep_ns": 5, "count": 1, "period_ns": 5}, "count"),
        ({"count": 1}, "count"),
        ({"burst": 2}, "min_sep_ns"),
        ({"capacity": 0}, "capacity"),
        ({"count": 0, "period_ns": 1}, "count"),
    ],
)
def test_an_offer_that_makes_no_sense_is_refused(
    plane: _core.MemoryPlane, offer: dict[str, int], field: str
) -> None:
    conn, topic = join(plane, "publisher"), plane.declare("t")
    with pytest.raises(InvalidInput) as refused:
        plane.advertise(conn, topic, **offer)
    assert refused.value.field == field


def test_what_is_not_there_is_unknown(plane: _core.MemoryPlane) -> None:
    conn = join(plane, "a")
    with pytest.raises(Duplicate):
        plane.connect(conn, "b")
    plane.close(conn, 6, "enough")
    (last,) = frames(plane.drain(0, conn))
    assert isinstance(last, _core.Failure)
    assert (last.code, last.text) == (6, "enough")
    for call in (
        lambda: plane.subscribe(conn, "#"),
        lambda: plane.close(conn, 0, ""),
        lambda: plane.connect(1 << 40, "x"),
        lambda: plane.advertise(conn, 0),
    ):
        with pytest.raises(Unknown, match="unknown connection"):
            call()
    plane.send(conn, b"too late")


def test_no_more_connections_than_allowed() -> None:
    plane = _core.MemoryPlane(connections_max=1)
    plane.open()
    with pytest.raises(Overload):
        plane.open()
    assert plane.status()["refused"]["connections"] == 1


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'inputs'"):
        _core.MemoryPlane(inputs="twrr")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'listen'"):
        _core.MemoryPlane(listen=[])  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"listen": ["http://x"]}, "listen[0]"),
        ({"listen": ["tcp://127.0.0.1:0", "unix://relative"]}, "listen[1]"),
        ({"period_ns": 5}, "budget_ns"),
        ({"period_ns": 5, "budget_ns": 6}, "budget_ns"),
        ({"read_bytes": 0}, "read_bytes"),
        ({"input": "none"}, "input"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        _core.Plane(**options)  # type: ignore[arg-type]
    assert refused.value.field == field


@pytest.fixture
def running() -> Iterator[_core.Plane]:
    plane = _core.Plane(listen=["tcp://127.0.0.1:0"])
    plane.start()
    yield plane
    plane.stop(0)


def test_a_wait_for_events_ends_when_somebody_wakes_it(running: _core.Plane) -> None:
    waker = threading.Timer(0.01, running.wake)
    waker.start()
    assert running.events(WATCHDOG_NS) == []
    assert running.events(0) == []


def test_a_plane_says_where_it_listens_and_which_thread_it_is(running: _core.Plane) -> None:
    (address,) = running.addresses
    assert address.startswith("tcp://127.0.0.1:")
    assert not address.endswith(":0")
    assert running.thread_id != threading.get_native_id()


def test_a_plane_that_has_stopped_is_closed(running: _core.Plane) -> None:
    running.stop(0)
    for call in (
        lambda: running.declare("t"),
        running.status,
        lambda: running.events(WATCHDOG_NS),
        running.start,
    ):
        with pytest.raises(Closed):
            call()


def test_a_plane_that_was_not_started_has_no_thread() -> None:
    with pytest.raises(Closed, match="not been started"):
        _ = _core.Plane().thread_id


@pytest.mark.parametrize("option", ["slice_ns", "guarded_steps"])
def test_a_slice_and_guarded_steps_cannot_be_nothing(option: str) -> None:
    with pytest.raises(InvalidInput, match=option):
        _core.Plane(**{option: 0})  # type: ignore[arg-type]


def test_a_topic_that_cannot_be_guarded_raises(plane: _core.MemoryPlane) -> None:
    first, last = plane.declare("first"), plane.declare("last")
    with pytest.raises(Unknown, match="99"):
        plane.guard([first, 99, last], True)
    assert plane.guard([first, 99, last], False) == [first, last]


def test_guarded_topics_go_first(plane: _core.MemoryPlane) -> None:
    publisher, subscriber = join(plane, "publisher"), join(plane, "subscriber")
    rest, guarded = plane.declare("rest"), plane.declare("guarded")
    assert plane.guard([guarded], True) == [guarded]
    flows = [plane.advertise(publisher, topic) for topic in (rest, guarded)]
    plane.subscribe(subscriber, "#")
    plane.feed(0, publisher, b"".join(data(flow, n) for flow in flows for n in range(2)))
    assert run(plane, 0) == 4
    assert plane.guard([rest, guarded], False) == [rest]
    messages = [frame for frame in frames(plane.drain(0, subscriber)) if isinstance(frame, _core.Data)]
    assert [message.stream for message in messages] == [guarded, guarded, rest, rest]
    assert plane.guard([rest, guarded], False) == [rest, guarded]
    assert plane.status()["guarded"] == {"slice_max_ns": 0, "call_max_ns": 0, "turn_max_ns": 0}
