"""One request at a time: what it does, who hears of it, and in which order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from recording import Bench

from giusto import _core, errors
from giusto.broker import requests as requests_module
from giusto.broker import topics as topics_module
from giusto.broker import views as views_module
from giusto.broker.address import client_address, host_of, main_address, udp_port
from giusto.broker.exchange import failed
from giusto.broker.verdicts import UNASKED
from giusto.config import BrokerConfig, Limits
from giusto.config.broker import SHARES_READ
from giusto.errors import FilterSyntax, GiustoError, InvalidInput
from giusto.protocol import (
    Advertise,
    Advertised,
    Allot,
    Closing,
    Connect,
    Connected,
    Done,
    Dropped,
    Failed,
    Matched,
    NeedTerms,
    OfferTerms,
    Parties,
    Party,
    Publishers,
    ShareTerms,
    SourceIs,
    Status,
    StatusIs,
    Subscribe,
    Subscribed,
    Subscribers,
    TopicIs,
    Unadvertise,
    Unsubscribe,
    Views,
    ViewsAre,
    encode,
)


def raised(answer: Any) -> GiustoError:
    """The error that a client raises from an answer."""
    assert isinstance(answer, Failed)
    error = getattr(errors, answer.error)(*answer.args)
    assert isinstance(error, GiustoError)
    return error


def test_connect_is_answered_with_what_the_client_is_called() -> None:
    bench = Bench()
    bench.plane.opens(1)
    (answer,) = bench.ask(1, Connect(id=7, name="monitor", version="1", udp_port=9))
    assert answer == Connected(
        id=7, client=0, name="monitor", run="run-1", version="1.0", input="twrr", output="fifo"
    )
    assert bench.plane.calls == [("connect", "monitor", None)]


def test_a_client_without_a_name_is_given_one() -> None:
    bench = Bench()
    bench.client(1, "client-2")
    bench.plane.opens(2)
    (answer,) = bench.ask(2, Connect(id=1, name="", version="1"))
    assert isinstance(answer, Connected)
    assert answer.name == "client-3"


def test_a_taken_name_is_refused_until_its_owner_has_gone() -> None:
    bench = Bench()
    bench.client(1, "monitor")
    bench.plane.opens(2)
    request = Connect(id=1, name="monitor", version="1")
    assert str(raised(bench.ask(2, request)[0])) == "client monitor exists already"
    bench.plane.hangs_up(1, said=False)
    assert isinstance(bench.ask(2, request)[0], Connected)
    bench.plane.happened.append(("closed", 1, "late news"))
    bench.control.turn(0)
    assert list(bench.control.registry.clients) == [2]


def test_data_goes_by_udp_where_both_sides_have_it() -> None:
    bench = Bench(udp_port=7448)
    bench.plane.opens(1, "tcp://10.0.0.7:5000")
    (answer,) = bench.ask(1, Connect(id=1, name="a", version="1", udp_port=9))
    assert isinstance(answer, Connected)
    assert answer.udp_port == 7448
    assert bench.plane.calls == [("connect", "a", ("10.0.0.7", 9))]
    bench.plane.opens(2)
    assert raised(bench.ask(2, Connect(id=1, name="b", version="1", udp_port=0))[0]).args[0] == "udp_port"
    bench.plane.opens(3, "unix:///run/giusto.sock")
    (local,) = bench.ask(3, Connect(id=1, name="c", version="1", udp_port=9))
    assert isinstance(local, Connected)
    assert local.udp_port is None


def test_nothing_may_be_asked_before_connect_and_connect_only_once() -> None:
    bench = Bench()
    bench.plane.opens(1)
    assert bench.ask(1, Status(id=1)) == []
    assert bench.plane.closed[1] == (2, "Status before Connect")
    bench.client(2)
    assert raised(bench.ask(2, Connect(id=3, name="x", version="1"))[0]).args[0] == "op"


def test_a_topic_is_declared_on_first_use_with_its_configured_share() -> None:
    config = BrokerConfig(topics=(("ward/+/alarm", ShareTerms(weight=9)), ("log", ShareTerms(weight=2))))
    bench = Bench(config)
    assert bench.plane.calls == [("declare", "log", 2)]
    bench.client(1)
    offer = OfferTerms(min_sep_ns=10, burst=2, jitter_ns=3, max_size_bytes=64, queue=32)
    (answer,) = bench.ask(1, Advertise(id=2, topic="ward/3/alarm", offer=offer))
    assert answer == Advertised(id=2, flow=0, topic=1, credit=32, subscribers=0)
    expected = {"capacity": 32, "max_size_bytes": 64, "min_sep_ns": 10, "burst": 2, "jitter_ns": 5_000_003}
    assert bench.plane.calls[2:] == [("declare", "ward/3/alarm", 9), ("advertise", 1, expected)]


def test_an_offer_without_a_rate_is_not_policed() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=2, topic="a"))
    assert bench.plane.calls[-1] == ("advertise", 0, {"capacity": 1024})


def test_subscribers_hear_names_before_the_publisher_may_send() -> None:
    bench = Bench()
    publisher, subscriber, stranger = bench.client(1), bench.client(2), bench.client(3)
    bench.ask(subscriber, Subscribe(id=1, pattern="ward/+/alarm"))
    bench.ask(subscriber, Subscribe(id=2, pattern="ward/#"))
    bench.ask(stranger, Subscribe(id=1, pattern="other"))
    (answer,) = bench.ask(publisher, Advertise(id=1, topic="ward/3/alarm"))
    assert isinstance(answer, Advertised)
    assert answer.subscribers == 2
    heard = bench.heard(subscriber)
    assert heard == [
        TopicIs(0, "ward/3/alarm"),
        SourceIs(0, "c1"),
        Matched(1, subscription=0),
        Matched(1, subscription=1),
    ]
    assert bench.heard(stranger) == []


def test_a_subscriber_hears_names_before_its_subscription_begins() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    bench.ask(1, Advertise(id=1, topic="a/b"))
    bench.ask(1, Advertise(id=2, topic="a/c"))
    *names, answer = bench.ask(2, Subscribe(id=9, pattern="a/+"))
    assert names == [TopicIs(0, "a/b"), SourceIs(0, "c1"), TopicIs(1, "a/c")]
    assert answer == Subscribed(id=9, subscription=0, publishers=2, verdict=UNASKED)
    assert bench.plane.calls[-1] == ("subscribe", "a/+", None, None, 3)
    assert bench.heard(1) == [Matched(1, flow=0), Matched(1, flow=1)]


def test_a_name_is_told_once_and_again_when_its_number_means_another() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    (advertised,) = bench.ask(1, Advertise(id=1, topic="a"))
    assert isinstance(advertised, Advertised)
    assert bench.ask(2, Subscribe(id=1, pattern="#"))[:2] == [TopicIs(0, "a"), SourceIs(0, "c1")]
    assert len(bench.ask(2, Subscribe(id=2, pattern="a"))) == 1
    bench.ask(1, Unadvertise(id=2, flow=advertised.flow))
    bench.control.forget_vacant()
    bench.control.forget_vacant()
    assert bench.control.registry.topics == {}
    bench.plane.hangs_up(1)
    bench.client(3)
    bench.heard(2)
    bench.ask(3, Advertise(id=1, topic="b"))
    assert bench.heard(2)[:2] == [TopicIs(0, "b"), SourceIs(0, "c3")]


def test_a_client_that_went_unnoticed_leaves_its_numbers_to_others() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.ask(2, Subscribe(id=1, pattern="a"))
    bench.plane.hangs_up(1, said=False)
    bench.client(3)
    bench.heard(2)
    bench.ask(3, Advertise(id=1, topic="a"))
    assert bench.heard(2) == [SourceIs(0, "c3"), Matched(1, subscription=0)]
    assert [flow.client.name for flow in bench.control.registry.topics["a"].flows.values()] == ["c3"]


def test_the_name_of_a_publisher_outlives_it_as_its_messages_do() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.plane.engine.publish(0, 0, b"last words")
    bench.plane.hangs_up(1)
    assert bench.ask(2, Subscribe(id=1, pattern="a"))[:2] == [TopicIs(0, "a"), SourceIs(0, "c1")]


def test_both_sides_hear_when_the_other_leaves() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.ask(2, Subscribe(id=1, pattern="a"))
    assert bench.heard(1) == [Matched(1, flow=0)]
    assert bench.ask(2, Unsubscribe(id=2, subscription=0)) == [Done(id=2)]
    assert bench.heard(1) == [Matched(0, flow=0)]
    bench.ask(2, Subscribe(id=3, pattern="#"))
    bench.heard(1)
    bench.plane.hangs_up(1)
    bench.control.turn(0)
    assert bench.heard(2) == [Matched(0, subscription=0)]


def test_a_deadline_and_a_promise_reach_the_output_stage() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Subscribe(id=1, pattern="a"))
    assert bench.plane.calls[-1][3] is None
    bench.ask(1, Subscribe(id=1, pattern="a", need=NeedTerms(max_latency_ns=50_000_000)))
    assert bench.plane.calls[-1][3] is not None
    bench.ask(1, Subscribe(id=2, pattern="a", need=NeedTerms(deadline_ns=5, price=2.0)))
    assert bench.plane.calls[-1][3] is not None


def test_only_its_own_flows_and_subscriptions_can_be_ended() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.ask(1, Subscribe(id=2, pattern="a"))
    assert str(raised(bench.ask(2, Unadvertise(id=1, flow=0))[0])) == "unknown flow 0"
    assert str(raised(bench.ask(2, Unsubscribe(id=2, subscription=0))[0])) == "unknown subscription 0"


@pytest.mark.parametrize(
    ("request_", "error", "field"),
    [
        (Advertise(id=5, topic="a/+"), InvalidInput, "topic"),
        (Advertise(id=5, topic=""), InvalidInput, "topic"),
        (Advertise(id=5, topic="a", offer=OfferTerms(min_sep_ns=-1)), InvalidInput, "min_sep"),
        (Subscribe(id=5, pattern="a//b"), InvalidInput, "pattern"),
        (Subscribe(id=5, pattern="a", filter="x >"), FilterSyntax, "filter"),
        (Subscribe(id=5, pattern="a", need=NeedTerms(price=1.0)), InvalidInput, "price"),
        (Publishers(id=5, topic="#/a"), InvalidInput, "pattern"),
        (Subscribers(id=5, topic="a/#"), InvalidInput, "topic"),
        (Views(id=5, pattern="#/a"), InvalidInput, "pattern"),
        (Allot(id=5, topic="full", share=ShareTerms(weight=0)), InvalidInput, "weight"),
    ],
)
def test_a_bad_request_fails_by_name_and_changes_nothing(
    request_: Any, error: type[InvalidInput], field: str
) -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="full"))
    (answer,) = bench.ask(1, request_)
    problem = raised(answer)
    assert isinstance(problem, error)
    assert problem.field == field
    (client,) = bench.control.registry.clients.values()
    assert (len(client.flows), len(client.subscriptions)) == (1, 0)


def test_a_topic_has_one_flow_of_a_client() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    assert str(raised(bench.ask(1, Advertise(id=2, topic="a"))[0])) == "flow of c1 on a exists already"


def test_a_client_may_have_as_many_as_the_limits_say() -> None:
    bench = Bench(BrokerConfig(limits=Limits(topics=1, subscriptions=1)))
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.ask(1, Subscribe(id=2, pattern="a"))
    assert "limits.topics" in str(raised(bench.ask(1, Advertise(id=3, topic="b"))[0]))
    assert "limits.subscriptions" in str(raised(bench.ask(1, Subscribe(id=3, pattern="b"))[0]))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\x80",
        b"\x91" * 100_000,
        msgspec.msgpack.encode({"op": "status", "id": "text"}),
        msgspec.msgpack.encode([1, 2, 3]),
    ],
    ids=["empty", "reserved byte", "no fields", "deep", "id of another type", "a list"],
)
def test_what_is_no_request_closes_its_connection_alone(body: bytes) -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    assert bench.ask(1, body) == []
    assert bench.plane.closed[1][0] == 1
    assert bench.ask(2, Publishers(id=1, topic="a")) == [Parties(id=1, parties=[])]


@pytest.mark.parametrize(
    "body",
    [
        {"op": "nonsense", "id": 4},
        {"op": "subscribe", "id": 4},
        {"op": "subscribe", "id": 4, "pattern": 3},
        {"op": "connected", "id": 4, "pattern": "x" * 70_000},
        {"id": 4},
    ],
)
def test_a_wrong_request_with_an_id_is_answered(body: dict[str, Any]) -> None:
    bench = Bench()
    bench.client(1)
    (answer,) = bench.ask(1, msgspec.msgpack.encode(body))
    assert isinstance(answer, Failed)
    assert (answer.id, answer.error) == (4, "ProtocolError")


def test_a_mistake_of_the_broker_costs_one_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("a bug")

    bench = Bench()
    bench.client(1)
    bench.client(2)
    monkeypatch.setattr(requests_module, "status_answer", fail)
    assert bench.ask(1, Status(id=1)) == []
    assert bench.plane.closed[1][0] == 7
    assert "a bug" in caplog.text
    assert bench.ask(2, Publishers(id=1, topic="a")) == [Parties(id=1, parties=[])]


def test_who_publishes_and_who_listens_can_be_asked() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    offer, need = OfferTerms(min_sep_ns=5), NeedTerms(deadline_ns=7)
    bench.ask(1, Advertise(id=1, topic="a/b", offer=offer))
    bench.ask(2, Subscribe(id=1, pattern="a/+", need=need))
    publishers = Parties(id=3, parties=[Party(0, "c1", "a/b", offer=offer)])
    assert bench.ask(2, Publishers(id=3, topic="a/b")) == [publishers]
    subscribers = [Party(1, "c2", "a/+", need=need)]
    bench.heard(1)
    assert bench.ask(1, Subscribers(id=4, topic="a/b")) == [Parties(id=4, parties=subscribers)]
    assert bench.ask(1, Subscribers(id=5, topic="a/not-there")) == [Parties(id=5, parties=subscribers)]
    assert list(bench.control.registry.topics) == ["a/b"]


def test_a_share_can_be_changed_while_the_topic_runs() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    assert bench.ask(1, Allot(id=2, topic="a", share=ShareTerms(weight=5))) == [Done(id=2)]
    assert bench.plane.engine.views()["shares"][0].weight == 5
    assert str(raised(bench.ask(1, Allot(id=3, topic="b", share=ShareTerms()))[0])) == "unknown topic b"


@pytest.mark.parametrize(
    ("policy", "share", "expected"),
    [
        ("twrr", ShareTerms(rate=5), "rate = 5: expected weight, which is what twrr reads"),
        ("smooth", ShareTerms(weight=2, period_ns=9), "period_ns = 9: expected weight, which"),
        ("fair", ShareTerms(weight=5), "weight = 5: expected rate or virtual_deadline, which"),
        ("edf", ShareTerms(weight=5), "weight = 5: expected period_ns or deadline_ns, which"),
    ],
)
def test_a_share_that_the_policy_does_not_read_is_refused(
    policy: str, share: ShareTerms, expected: str
) -> None:
    bench = Bench(BrokerConfig(input=policy))
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    error = raised(bench.ask(1, Allot(id=2, topic="a", share=share))[0])
    assert isinstance(error, InvalidInput)
    assert expected in str(error)
    assert bench.control.registry.topics["a"].share == ShareTerms()


def test_every_input_policy_says_which_share_it_reads() -> None:
    assert set(SHARES_READ) == {name for name, _ in _core.input_policies()}


def test_losses_go_to_whom_they_concern() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.plane.lost = [(1, 0, 0, "policed", 3), (2, 0, None, "dropped", 4)]
    bench.plane.lost += [(9, 0, None, "dropped", 1), (1, 77, None, "dropped", 1)]
    bench.control.report_losses()
    assert bench.heard(1) == [Dropped("a", "policed", 3, 0)]
    assert bench.heard(2) == [Dropped("a", "dropped", 4)]


def test_the_status_has_names_counters_and_losses() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.ask(2, Subscribe(id=1, pattern="#"))
    bench.heard(1)
    bench.plane.counted = {
        "topics": {
            0: {"counters": {"delivered": 8}, "delay_p50_ns": 5, "delay_p99_ns": 6, "delay_max_ns": 7}
        },
        "clients": {1: {"served": 8, "waiting": 0}, 2: {"served": 0, "waiting": 3}},
        "totals": {"delivered": 9},
        "refused": {"protocol": 2},
    }
    bench.plane.lost = [(2, 0, None, "dropped", 4)]
    bench.control.report_losses()
    bench.now = 50
    (status,) = bench.ask(1, Status(id=6))
    assert isinstance(status, StatusIs)
    assert (status.uptime_ns, status.now_ns, status.run) == (50, 50, "run-1")
    assert (status.totals, status.refused) == ({"delivered": 9}, {"protocol": 2})
    (topic,) = status.topics
    assert (topic.topic, topic.publishers, topic.subscribers) == ("a", 1, 1)
    assert (topic.counters, topic.delay_p50_ns, topic.delay_max_ns) == ({"delivered": 8}, 5, 7)
    assert [(each.name, each.served, each.waiting, each.dropped) for each in status.clients] == [
        ("c1", 8, 0, {}),
        ("c2", 0, 3, {"dropped": 4}),
    ]


def test_a_topic_that_nobody_uses_is_forgotten_after_a_while() -> None:
    bench = Bench(BrokerConfig(topics=(("kept", ShareTerms()),)))
    bench.client(1)
    for number, topic in enumerate(["kept", "left", "used"]):
        bench.ask(1, Advertise(id=number, topic=topic))
    bench.control.forget_vacant()
    bench.ask(1, Unadvertise(id=3, flow=0))
    bench.ask(1, Unadvertise(id=4, flow=1))
    bench.control.forget_vacant()
    assert list(bench.control.registry.topics) == ["kept", "left", "used"]
    bench.control.forget_vacant()
    assert list(bench.control.registry.topics) == ["kept", "used"]


def test_a_topic_with_messages_left_is_forgotten_when_they_have_gone() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.plane.engine.publish(0, 0, b"still here")
    bench.ask(1, Unadvertise(id=2, flow=0))
    for _ in range(3):
        bench.control.forget_vacant()
    assert list(bench.control.registry.topics) == ["a"]
    bench.plane.engine.step(1)
    bench.control.forget_vacant()
    assert bench.control.registry.topics == {}


def test_topics_do_not_pile_up_however_fast_a_client_changes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics_module, "VACANT_MAX", 10)
    bench = Bench()
    bench.client(1)
    for number in range(50):
        (answer,) = bench.ask(1, Advertise(id=number, topic=f"t/{number}"))
        assert isinstance(answer, Advertised)
        bench.ask(1, Unadvertise(id=number, flow=answer.flow))
    assert len(bench.control.registry.topics) <= 12


def test_everybody_hears_that_the_broker_closes() -> None:
    bench = Bench()
    bench.client(1)
    bench.client(2)
    bench.plane.hangs_up(2, said=False)
    bench.control.announce_closing("shutting down")
    assert bench.heard(1) == [Closing("shutting down")]


def test_a_client_that_goes_while_it_asks_is_no_trouble() -> None:
    bench = Bench()
    bench.client(1)
    bench.plane.happened.append(("control", 1, encode(Advertise(id=1, topic="a"))))
    bench.plane.hangs_up(1)
    bench.control.turn(0)
    assert bench.control.registry.clients == {}


def test_a_failure_travels_as_plain_values() -> None:
    answer = failed(3, InvalidInput("field", [1, {2}], "something else"))
    assert answer == Failed(id=3, error="InvalidInput", args=["field", "[1, {2}]", "something else"])


def test_addresses_are_taken_apart() -> None:
    assert host_of("tcp://127.0.0.1:7447") == host_of("127.0.0.1:7447") == "127.0.0.1"
    assert host_of("tcp://[::1]:7447") == "::1"
    assert udp_port(["tcp://h:1", "udp://h:2", "udp://h:3"]) == 2
    assert udp_port(["tcp://h:1"]) is None
    assert client_address("tcp://127.0.0.1:7447") == "giusto://127.0.0.1:7447"
    assert client_address("tcp://0.0.0.0:1") == "giusto://127.0.0.1:1"
    assert client_address("udp://[::]:1") == "giusto+udp://[::1]:1"
    udp_first = ["udp://127.0.0.1:7447", "tcp://127.0.0.1:7448"]
    assert main_address(udp_first) == "tcp://127.0.0.1:7448"
    assert main_address(["udp://127.0.0.1:7447"]) == "udp://127.0.0.1:7447"
    assert client_address("unix:///run/giusto.sock") == "giusto+unix:///run/giusto.sock"


def test_a_topic_that_was_used_again_in_between_is_not_forgotten_at_once() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.ask(1, Unadvertise(id=2, flow=0))
    bench.control.forget_vacant()
    bench.ask(1, Advertise(id=3, topic="a"))
    bench.ask(1, Unadvertise(id=4, flow=0))
    bench.control.forget_vacant()
    assert list(bench.control.registry.topics) == ["a"]
    bench.control.forget_vacant()
    assert bench.control.registry.topics == {}


def test_requests_are_answered_between_portions_of_forgotten_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics_module, "AT_ONCE", 2)
    bench = Bench()
    bench.client(1)
    for number in range(5):
        bench.ask(1, Advertise(id=number, topic=f"t{number}"))
    for number in range(5):
        bench.ask(1, Unadvertise(id=number, flow=number))
    bench.control.forget_vacant()
    bench.control.forget_vacant()
    assert len(bench.control.registry.topics) == 3
    # One of those that are due is used again before its turn comes.
    (answer,) = bench.ask(1, Advertise(id=9, topic="t4"))
    assert isinstance(answer, Advertised)
    bench.control.turn(None)
    assert list(bench.control.registry.topics) == ["t4"]
    assert [call for call in bench.plane.calls if call[0] == "forget"] == [("forget", 0, 1), ("forget", 2, 3)]


def test_a_new_flow_is_told_by_two_names_however_many_publish() -> None:
    bench = Bench()
    for conn in range(1, 5):
        bench.client(conn)
        bench.ask(conn, Subscribe(id=1, pattern="all"))
        bench.ask(conn, Advertise(id=2, topic="all"))
    looked_at = count_walked(bench)
    bench.client(5)
    for conn in range(1, 5):
        bench.heard(conn)
    bench.ask(5, Advertise(id=1, topic="all"))
    assert [bench.heard(conn)[0] for conn in range(1, 5)] == [SourceIs(4, "c5")] * 4
    assert looked_at == []


def count_walked(bench: Bench) -> list[object]:
    """Notes each walk over all publishers of a topic from now on."""
    walked: list[object] = []
    walk = bench.control.registry.names_for

    def noted(client: Any, topics: Any) -> Any:
        walked.append(client)
        return walk(client, topics)

    bench.control.registry.names_for = noted  # type: ignore[method-assign]
    return walked


def test_a_publisher_that_went_is_remembered_until_its_number_is_anothers() -> None:
    bench = Bench()
    bench.client(9)
    bench.ask(9, Advertise(id=1, topic="a"))
    topic = bench.control.registry.topics["a"]
    for conn in range(1, 4):
        bench.client(conn)
        bench.ask(conn, Advertise(id=1, topic="a"))
        bench.plane.hangs_up(conn)
        bench.control.turn(0)
        assert topic.past == {1}
    bench.client(4)
    assert topic.past == set()
    bench.ask(9, Unadvertise(id=2, flow=0))
    assert topic.past == {0}
    bench.ask(9, Advertise(id=3, topic="a"))
    assert topic.past == set()


def test_a_client_that_does_not_read_is_told_the_sum_of_its_losses_when_it_does() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.plane.deaf = {1}
    for _ in range(3):
        bench.plane.lost = [(1, 0, 0, "policed", 2), (1, 0, None, "dropped", 1)]
        bench.control.report_losses()
    assert bench.heard(1) == []
    (status,) = bench.ask(1, Status(id=2))
    assert isinstance(status, StatusIs)
    assert status.clients[0].dropped == {"policed": 6, "dropped": 3}
    bench.plane.deaf = set()
    bench.control.report_losses()
    bench.control.report_losses()
    assert bench.heard(1) == [Dropped("a", "policed", 6, 0), Dropped("a", "dropped", 3)]


def test_losses_of_a_client_that_went_are_told_to_nobody() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.plane.deaf = {1}
    bench.plane.lost = [(1, 0, 0, "policed", 2)]
    bench.control.report_losses()
    bench.plane.hangs_up(1)
    bench.control.turn(0)
    bench.plane.deaf = set()
    bench.control.report_losses()
    assert bench.heard(1) == []


def test_views_have_a_row_for_each_client_with_a_part_and_a_column_for_each_topic() -> None:
    bench = Bench(BrokerConfig(topics=(("b", ShareTerms(weight=7)),)))
    for conn in (1, 2, 3):
        bench.client(conn)
    for number, (conn, topic) in enumerate([(2, "b"), (1, "a"), (2, "a")]):
        bench.ask(conn, Advertise(id=number, topic=topic))
    bench.ask(1, Subscribe(id=4, pattern="#"))
    bench.ask(1, Subscribe(id=5, pattern="b"))
    expected = ViewsAre(
        id=6,
        topics=["a", "b"],
        clients=["c1", "c2"],
        shares=[ShareTerms(), ShareTerms(weight=7)],
        matrix_in=[[1, 0], [1, 1]],
        matrix_out=[[1, 1], [0, 0]],
    )
    assert bench.ask(3, Views(id=6)) == [expected]
    engine = bench.plane.engine.views()
    assert engine["topics"] == ["b", "a"]
    assert engine["matrix_in"] == [[0, 1], [1, 1], [0, 0]]
    (part,) = bench.ask(3, Views(id=7, pattern="b"))
    assert isinstance(part, ViewsAre)
    assert (part.topics, part.matrix_in, part.matrix_out) == (["b"], [[0], [1]], [[1], [0]])


def test_views_are_cut_to_a_page_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views_module, "TOPICS_MAX", 2)
    monkeypatch.setattr(views_module, "CLIENTS_MAX", 1)
    bench = Bench()
    for conn in (1, 2, 3):
        bench.client(conn)
        bench.ask(conn, Advertise(id=1, topic=f"t{conn}"))
    (cut,) = bench.ask(3, Views(id=2))
    assert isinstance(cut, ViewsAre)
    assert (cut.topics, cut.topics_more, cut.clients, cut.clients_more) == (["t1", "t2"], 1, ["c1"], 1)
    assert (cut.matrix_in, cut.matrix_out) == ([[1, 0]], [[0, 0]])


def test_no_latency_is_promised_over_datagrams() -> None:
    bench = Bench(udp_port=7447)
    bench.plane.opens(1)
    bench.ask(1, Connect(id=0, name="udp", version="1", udp_port=5000))
    bench.client(2, "tcp")
    need, offer = NeedTerms(max_latency_ns=5_000_000), OfferTerms(min_sep_ns=10_000_000, max_size_bytes=64)
    bench.ask(1, Advertise(id=1, topic="a", offer=offer))
    for conn in (1, 2):
        error = raised(bench.ask(conn, Subscribe(id=2, pattern="a", need=need))[-1])
        assert isinstance(error, errors.Refused)
        assert error.why == "datagrams"
    bench.ask(2, Subscribe(id=3, pattern="b", need=need))
    assert "connect to giusto://" in str(raised(bench.ask(1, Advertise(id=4, topic="b", offer=offer))[-1]))
