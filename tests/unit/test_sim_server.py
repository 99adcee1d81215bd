"""The virtual-time server: sizes, streams of one client, and the ends of time."""

from __future__ import annotations

from fractions import Fraction

import pytest

from giusto import _core
from giusto.errors import InvalidInput, Unknown
from giusto.guarantee import edf
from giusto.sim import Refused, Stream, Topic, serve

LAST_NS = 2**63 - 1
FIRST_NS = -(2**63)


def test_a_message_takes_a_quantum_per_fragment_however_small() -> None:
    topic = Topic(name="a", service_ns=10)
    for size_bytes, quanta in ((0, 1), (1, 1), (2, 2), (3, 3), (4, 4)):
        stream = Stream(topic="a", client="c", times_ns=[0], size_bytes=size_bytes)
        run = serve("twrr", [topic], [stream], fragment_bytes=1)
        assert run.delays_ns("a") == [10 * quanta], size_bytes


@pytest.mark.parametrize("policy", [name for name, _ in _core.input_policies()])
def test_streams_of_one_client_on_one_topic_share_its_queue(policy: str) -> None:
    """One quantum per cell and client, and the urgent ones first."""
    topics = [Topic(name="a", service_ns=1), Topic(name="b", service_ns=1)]
    normal = Stream(topic="a", client="c", times_ns=[0] * 3)
    urgent = Stream(topic="a", client="c", times_ns=[0] * 3, priority=7)
    other = Stream(topic="b", client="c", times_ns=[0] * 6)
    run = serve(policy, topics, [normal, urgent, other])
    assert run.order()[:6] == ["a", "b"] * 3


def test_streams_that_share_a_queue_agree_on_its_capacity() -> None:
    streams = [Stream(topic="a", client="c", times_ns=[0], capacity=n) for n in (1, 2)]
    with pytest.raises(InvalidInput, match="capacity"):
        serve("twrr", [Topic(name="a", service_ns=1)], streams)


def test_messages_of_one_instant_and_queue_stay_in_the_order_of_the_streams() -> None:
    large = Stream(topic="a", client="c", times_ns=[0], size_bytes=200)
    small = Stream(topic="a", client="c", times_ns=[0], size_bytes=100)
    run = serve("twrr", [Topic(name="a", service_ns=1)], [large, small], fragment_bytes=100)
    assert [done.completed_ns for done in run.completions] == [2, 3]


@pytest.mark.parametrize(
    ("field", "stream"),
    [
        ("size_bytes", {"size_bytes": -5}),
        ("size_bytes", {"size_bytes": 1 << 40}),
        ("size_bytes", {"size_bytes": (1 << 24) + 1}),
        ("priority", {"priority": 8}),
        ("priority", {"priority": -1}),
        ("capacity", {"capacity": -1}),
        ("capacity", {"capacity": 0}),
        ("times_ns", {"times_ns": [1 << 70]}),
    ],
)
def test_a_stream_out_of_range_names_its_field(field: str, stream: dict[str, object]) -> None:
    fields = {"topic": "a", "client": "c", "times_ns": [0], **stream}
    with pytest.raises(InvalidInput, match=field):
        serve("twrr", [Topic(name="a", service_ns=1)], [Stream(**fields)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "topic"),
    [
        ("service_ns", {"service_ns": 1 << 70}),
        ("service_ns", {"service_ns": 0}),
        ("virtual_deadline", {"virtual_deadline": Fraction(-1, 10**30)}),
        ("virtual_deadline", {"virtual_deadline": float("nan")}),
        ("virtual_deadline", {"virtual_deadline": float("inf")}),
    ],
)
def test_a_topic_out_of_range_names_its_field(field: str, topic: dict[str, object]) -> None:
    fields, stream = {"name": "a", "service_ns": 1, **topic}, Stream(topic="a", client="c", times_ns=[0])
    with pytest.raises(InvalidInput, match=field):
        serve("fair", [Topic(**fields)], [stream])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "field", "topic"),
    [
        ("twrr", "weight", {"weight": 65_536}),
        ("smooth", "weight", {"weight": 0}),
        ("fair", "rate", {"rate": 2**32 - 1}),
        ("fair", "virtual_deadline", {"virtual_deadline": 2}),
        ("fair", "virtual_deadline", {"virtual_deadline": -1}),
        ("edf", "deadline_ns", {"deadline_ns": LAST_NS}),
        ("edf", "service_ns", {"service_ns": "long"}),
        ("edf", "name", {"name": 5}),
        ("edf", "name", {"name": "b"}),
    ],
)
def test_an_error_says_which_topic(policy: str, field: str, topic: dict[str, object]) -> None:
    fields = {"name": "c", "service_ns": 1, **topic}
    topics = [Topic(name="a", service_ns=1), Topic(name="b", service_ns=1), Topic(**fields)]  # type: ignore[arg-type]
    with pytest.raises(InvalidInput) as caught:
        serve(policy, [*topics, Topic(name="d", service_ns=1)], [])
    assert caught.value.field == f"topics[2].{field}"


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("topics", {"topics": None}),
        ("topics[0]", {"topics": ["a"]}),
        ("streams", {"streams": 3}),
        ("streams[0]", {"streams": [("a", "c", [0])]}),
        ("streams[0].times_ns", {"streams": [Stream(topic="a", client="c", times_ns=5)]}),  # type: ignore[arg-type]
        ("streams[0].times_ns[1]", {"streams": [Stream(topic="a", client="c", times_ns=[0, 0.5])]}),  # type: ignore[list-item]
        ("streams[0].client", {"streams": [Stream(topic="a", client=None, times_ns=[])]}),  # type: ignore[arg-type]
        ("service_first", {"service_first": "no"}),
        ("policy", {"policy": 7}),
    ],
)
def test_what_is_not_a_topic_or_a_stream_is_named(field: str, arguments: dict[str, object]) -> None:
    given = {"policy": "twrr", "topics": [Topic(name="a", service_ns=1)], "streams": [], **arguments}
    with pytest.raises(InvalidInput) as caught:
        serve(**given)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_topics_and_streams_may_come_from_generators() -> None:
    topics = (Topic(name=name, service_ns=1) for name in "ab")
    streams = (Stream(topic=name, client="c", times_ns=[0, 0]) for name in "ab")
    assert serve("twrr", topics, streams).order() == ["a", "b", "a", "b"]


def test_refused_messages_are_listed() -> None:
    stream = Stream(topic="a", client="c", times_ns=[0, 0, 1, 30], capacity=1)
    run = serve("twrr", [Topic(name="a", service_ns=10)], [stream])
    assert run.overflow == [Refused("a", "c", 0)]
    assert [done.arrived_ns for done in run.completions] == [0, 1, 30]


def test_delays_are_those_of_a_topic_that_was_served() -> None:
    topics = [Topic(name=name, service_ns=10) for name in ("a", "silent")]
    run = serve("twrr", topics, [Stream(topic="a", client="c", times_ns=[0] * 4)])
    assert (run.delays_ns("a"), run.delays_ns("silent")) == ([10, 20, 30, 40], [])
    assert (run.worst_ns("a"), run.worst_ns("silent")) == (40, None)
    assert [run.percentile_ns("a", percent) for percent in (1, 25, 25.1, 50, 99.9, 100)] == [
        10,
        10,
        20,
        20,
        40,
        40,
    ]
    assert run.percentile_ns("silent", 50) is None
    for call in (run.delays_ns, run.worst_ns, lambda topic: run.percentile_ns(topic, 50)):
        with pytest.raises(Unknown, match="unknown topic typo"):
            call("typo")
    for percent in (0, 100.5, "half"):
        with pytest.raises(InvalidInput, match="percent"):
            run.percentile_ns("a", percent)


def test_time_that_would_run_out_is_an_error() -> None:
    for times_ns, service_ns in (([FIRST_NS] * 4, LAST_NS), ([LAST_NS - 1] * 2, 1), ([LAST_NS], 1)):
        with pytest.raises(InvalidInput, match="service_ns"):
            serve(
                "twrr",
                [Topic(name="a", service_ns=service_ns)],
                [Stream(topic="a", client="c", times_ns=times_ns)],
            )


def test_the_whole_range_of_time_can_be_used() -> None:
    run = serve(
        "edf",
        [Topic(name="a", service_ns=1)],
        [Stream(topic="a", client="c", times_ns=[FIRST_NS, LAST_NS - 1])],
    )
    assert [done.completed_ns for done in run.completions] == [FIRST_NS + 1, LAST_NS]


def test_urgent_messages_do_not_cost_their_topic_its_rate() -> None:
    """edf: whoever goes first, a topic with burst 1 completes its n-th within D of its n-th arrival (E1)."""
    topics = [
        Topic(name="a", service_ns=1_000, period_ns=4_000, deadline_ns=44_000),
        Topic(name="flood", service_ns=1_000, period_ns=1_334, deadline_ns=4_000),
    ]
    assert edf.feasible([(t.service_ns, t.period_ns, t.deadline_ns) for t in topics])
    urgent_ns, normal_ns = range(0, 8_000_000, 8_000), range(4_000, 8_000_000, 8_000)
    streams = [
        Stream(topic="a", client="c", times_ns=normal_ns),
        Stream(topic="a", client="c", times_ns=urgent_ns, priority=7),
        Stream(topic="flood", client="c", times_ns=[0] * 6_000),
    ]
    run = serve("edf", topics, streams)
    completed_ns = [done.completed_ns for done in run.completions if done.topic == "a"]
    arrived_ns = sorted([*urgent_ns, *normal_ns])
    assert len(completed_ns) == len(arrived_ns)
    assert max(end - start for start, end in zip(arrived_ns, completed_ns, strict=True)) <= 44_000
