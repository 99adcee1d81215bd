"""The blocking face on a bus in memory: the same broker and client, in virtual time."""

from __future__ import annotations

import msgspec
import pytest

import giusto
import giusto.errors
from giusto import Drop, Matchedness, Miss, Need, Offer, Violation
from giusto.client import Lost, Report, Restored
from giusto.config import BrokerConfig, Guarantee
from giusto.testing import MemoryBus


def payloads(subscription: giusto.Subscription) -> list[bytes]:
    return [message.payload for message in subscription]


def test_time_stands_still_until_somebody_advances_it_or_waits() -> None:
    bus = MemoryBus(delay="3ms")
    subscription, publisher = bus.subscribe("a/+"), bus.advertise("a/1")
    began_ns = bus.clock.now_ns
    publisher.publish(b"x")
    assert subscription.available() == 0
    bus.clock.advance("2ms")
    assert (subscription.available(), bus.clock.now_ns) == (0, began_ns + 2_000_000)
    bus.clock.advance("2ms")
    assert subscription.receive().latency_ns == 3_000_000
    publisher.publish(b"y")
    assert subscription.receive("1s").payload == b"y"
    assert bus.clock.now_ns == began_ns + 7_000_000


def test_a_receive_without_a_message_takes_its_timeout() -> None:
    bus = MemoryBus()
    subscription = bus.subscribe("a")
    with pytest.raises(giusto.TimedOut, match="receive: nothing after 3 s"):
        subscription.receive("3s")
    assert bus.clock.now_ns == 3_000_000_000
    assert payloads(subscription) == []


def test_several_clients_share_the_broker_and_the_clock() -> None:
    bus = MemoryBus(name="one")
    other = bus.connect(name="two")
    received: list[tuple[str, bytes]] = []
    other.subscribe("#", callback=lambda message: received.append((message.source, message.payload)))
    bus.advertise("a").publish_many([b"1", b"2"])
    bus.clock.advance("1ms")
    assert received == [("one", b"1"), ("one", b"2")]
    assert other.clock.now_ns == bus.clock.now_ns
    with pytest.raises(giusto.GiustoError, match="two"):
        bus.connect(name="two")


def test_a_late_message_is_a_miss_and_still_delivered() -> None:
    bus = MemoryBus(BrokerConfig(expiry="none"), delay="3ms")
    told: list[Miss] = []
    subscription = bus.subscribe("a", Need(deadline="2ms"), on_miss=told.append)
    bus.advertise("a").publish_many([b"1", b"2"])
    assert payloads(subscription) == [b"1", b"2"]
    (miss,) = told
    assert (miss.topic, miss.what, miss.count) == ("a", "latency", 2)
    assert (miss.limit_ns, miss.worst_ns) == (2_000_000, 3_000_000)
    assert str(miss) == "a: 2 with a latency above 2 ms, at worst 3 ms"
    assert subscription.report.late == 2


def test_messages_too_far_apart_are_a_miss() -> None:
    bus = MemoryBus()
    told: list[Miss] = []
    subscription = bus.subscribe("a", Need(max_sep="10ms"), on_miss=told.append)
    publisher = bus.advertise("a", Offer(max_sep="10ms"))
    for pause in ("10ms", "11ms"):
        publisher.publish(b"")
        bus.clock.advance(pause)
    publisher.publish(b"")
    assert len(payloads(subscription)) == 3
    assert [(miss.what, miss.worst_ns) for miss in told] == [("separation", 11_000_000)]


def test_breaking_an_offer_is_a_violation_told_to_the_publisher() -> None:
    bus = MemoryBus()
    told: list[Violation] = []
    publisher = bus.advertise("a", Offer(min_sep="10ms"), on_violation=told.append)
    publisher.publish_many([b"1", b"2", b"3"])
    bus.clock.advance("1s")
    assert [(one.party, one.reason, one.count) for one in told] == [(publisher, "policed", 2)]


def test_a_full_inbox_drops_by_its_policy_and_tells() -> None:
    bus = MemoryBus()
    told: list[Drop] = []
    oldest = bus.subscribe("a", queue=2, on_drop=told.append)
    newest = bus.subscribe("a", queue=2, overflow="drop_new")
    bus.advertise("a").publish_many([b"1", b"2", b"3"])
    bus.clock.advance("1ms")
    assert (payloads(oldest), payloads(newest)) == ([b"2", b"3"], [b"1", b"2"])
    assert [(drop.party, drop.reason, drop.count) for drop in told] == [(oldest, "inbox", 1)]


def test_parties_hear_of_the_other_side() -> None:
    bus = MemoryBus()
    told: list[Matchedness] = []
    subscription = bus.subscribe("a", on_matched=told.append)
    publisher = bus.advertise("a")
    bus.clock.advance("1ms")
    assert (subscription.matched, publisher.matched) == (1, 1)
    publisher.unadvertise()
    bus.clock.advance("1ms")
    assert [event.count for event in told] == [1, 0]


def test_events_come_as_a_stream_too() -> None:
    bus = MemoryBus(BrokerConfig(expiry="none"), delay="3ms")
    subscription = bus.subscribe("a", Need(deadline="2ms"))
    bus.advertise("a").publish(b"")
    kinds = {type(bus.events.receive("1s")) for _ in range(2)}
    assert kinds == {Miss, Matchedness}
    with pytest.raises(giusto.TimedOut):
        bus.events.receive("1s")
    assert subscription.available() == 1


def test_a_handler_that_raises_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    bus = MemoryBus()

    def fail(message: giusto.Message) -> None:
        raise ValueError("on purpose")

    bus.subscribe("a", callback=fail)
    other = bus.subscribe("a")
    bus.advertise("a").publish_many([b"1", b"2"])
    assert payloads(other) == [b"1", b"2"]
    assert caplog.text.count("ValueError: on purpose") == 2


def test_a_lost_connection_is_restored_and_told() -> None:
    bus = MemoryBus(name="steady")
    subscription, publisher = bus.subscribe("a"), bus.advertise("a")
    bus.break_connection()
    publisher.publish(b"after")
    assert subscription.receive("1s").payload == b"after"
    told = [bus.events.receive(0) for _ in range(bus.events.available())]
    (lost,) = [event for event in told if isinstance(event, Lost)]
    (restored,) = [event for event in told if isinstance(event, Restored)]
    assert lost.reason == "the test broke the connection"
    assert (restored.failed, restored.run) == ((), bus.run)


def test_without_reconnect_a_lost_connection_closes_everything() -> None:
    bus = MemoryBus(reconnect=False)
    subscription, publisher = bus.subscribe("a"), bus.advertise("a")
    bus.break_connection()
    with pytest.raises(giusto.Closed, match="the test broke the connection"):
        subscription.receive("1s")
    with pytest.raises(giusto.Closed):
        publisher.publish(b"")


def test_requests_work_in_memory() -> None:
    bus = MemoryBus()
    server = bus.connect()
    server.serve("double", lambda message: message.payload * 2)
    assert bus.request("double", b"ab").payload == b"abab"
    assert bus.request("double", b"cd").payload == b"cdcd"


ALARM = giusto.Offer(min_sep="10ms", max_size=256)
SOON = giusto.Need(max_latency="5ms")


def test_who_publishes_under_contract_asks_and_answers_too() -> None:
    bus = MemoryBus(name="nurse")
    bus.subscribe("alarm", SOON)
    monitors = [bus.connect(name=name) for name in ("one", "two")]
    for monitor in monitors:
        monitor.advertise("alarm", ALARM)
        monitor.serve(monitor.name, lambda message: message.payload * 2)
    assert monitors[0].request("two", b"ab").payload == b"abab"
    assert monitors[1].request("one", b"ab").payload == b"abab"
    assert isinstance(bus.connect().subscribe("alarm", SOON).verdict, giusto.Granted)
    assert {client.name for client in bus.status().clients} >= {"one~", "two~"}
    for monitor in monitors:
        monitor.close()
    assert not {client.name for client in bus.status().clients} & {"one~", "two~"}


def test_a_server_that_publishes_with_a_limit_can_come_under_contract_after_its_first_reply() -> None:
    bus = MemoryBus()
    server = bus.connect(name="server")
    server.advertise("alarm", ALARM)
    server.serve("double", lambda message: message.payload * 2)
    assert bus.request("double", b"ab").payload == b"abab"
    assert isinstance(bus.subscribe("alarm", SOON).verdict, giusto.Granted)


def test_who_has_asked_and_answered_before_can_publish_under_contract() -> None:
    bus = MemoryBus(name="nurse")
    bus.serve("half", lambda message: message.payload[::2])
    bus.subscribe("alarm", SOON)
    monitor = bus.connect(name="monitor")
    monitor.serve("double", lambda message: message.payload * 2)
    assert bus.request("double", b"ab").payload == b"abab"
    assert monitor.request("half", b"abcd").payload == b"ac"
    monitor.advertise("alarm", ALARM)
    assert isinstance(bus.connect().subscribe("alarm", SOON).verdict, giusto.Granted)
    assert bus.request("double", b"ab").payload == b"abab"
    assert monitor.request("half", b"abcd").payload == b"ac"
    assert [party.name for party in bus.publishers("half")] == ["monitor~"]
    assert [party.name for party in bus.publishers("_reply/nurse")] == ["monitor~"]


def test_a_second_connection_that_is_lost_for_good_is_replaced() -> None:
    bus = MemoryBus()
    bus.serve("double", lambda message: message.payload * 2)
    monitor = bus.connect(name="monitor", reconnect=False)
    monitor.advertise("alarm", ALARM)
    assert monitor.request("double", b"ab").payload == b"abab"
    second = monitor._second
    assert isinstance(second, MemoryBus)
    second.break_connection()
    assert monitor.request("double", b"ab").payload == b"abab"
    assert monitor._second is not second


def test_nobody_can_come_back_for_the_second_connection_of_a_bus_without_a_name() -> None:
    bus = MemoryBus()
    bus.serve("double", lambda message: message.payload * 2)
    asker = bus.connect()
    asker.advertise("alarm", ALARM)
    assert asker.request("double", b"ab").payload == b"abab"
    registry = bus._world._control.registry
    assert [client.unnamed for client in registry.clients.values()] == [True] * 3


def test_replies_can_have_an_offer_and_go_over_the_same_connection_then() -> None:
    bus = MemoryBus(name="asker")
    server = bus.connect(name="server")
    server.advertise("alarm", ALARM)
    offer = giusto.Offer(rate=10, max_size=300)
    server.serve("repeat", lambda message: message.payload * 2, offer=offer)
    assert bus.request("repeat", b"ab").payload == b"abab"
    (party,) = bus.publishers("_reply/asker")
    assert (party.name, giusto.Offer.from_terms(party.offer)) == ("server", offer)
    bus.clock.advance("1s")
    with pytest.raises(giusto.RequestFailed, match="at most 300 bytes"):
        bus.request("repeat", b"x" * 200)


def test_requests_can_have_an_offer_where_the_server_needs_a_latency() -> None:
    bus = MemoryBus()
    server = bus.connect()
    server.serve("double", lambda message: message.payload * 2, giusto.Need(max_latency="10ms"))
    with pytest.raises(giusto.Refused, match="without a limit"):
        bus.request("double", b"ab")
    assert bus.request("double", b"ab", offer=ALARM).payload == b"abab"


@pytest.mark.parametrize("is_under_contract", [False, True])
def test_who_asks_hears_that_the_reply_was_refused(is_under_contract: bool) -> None:
    bus = MemoryBus(name="asker")
    bus.connect().subscribe("_reply/asker", giusto.Need(max_latency="10ms"))
    server = bus.connect(name="server")
    if is_under_contract:
        server.advertise("alarm", ALARM)
    server.serve("double", lambda message: message.payload * 2)
    for _ in range(2):
        with pytest.raises(
            giusto.RequestFailed, match=r"server~? publishes on _reply/asker without a limit"
        ) as caught:
            bus.request("double", b"ab")
        assert caught.value.error == "Refused"
        bus.clock.advance("1s")


def test_nobody_can_have_a_server_publish_elsewhere() -> None:
    server = MemoryBus()
    server.serve("question", lambda message: b"false alarm")
    asker = server.connect()
    alarms = asker.subscribe("ward/#")
    asked = {"_reply": "ward/3/alarm", "_correlation": 1}
    asker.advertise("question").publish(b"", attributes=asked)
    assert payloads(alarms) == []
    assert server.publishers("ward/3/alarm") == []


def test_reports_come_period_by_period() -> None:
    bus = MemoryBus(delay="1ms")
    subscription, publisher = bus.subscribe("a"), bus.advertise("a")
    told: list[list[Report]] = []
    bus.on_report(told.append, every="1s")
    for _ in range(20):
        publisher.publish(b"12345")
        bus.clock.advance("100ms")
    rates = [report["a"].rate_hz for (report,) in told]
    # The first one begins with the subscription, two round trips before.
    assert rates == [pytest.approx(10, rel=0.01), 10]
    whole = subscription.report["a"]
    assert (whole.messages, whole.bytes, whole.lost) == (20, 100, 0)
    assert whole.p50_ns == pytest.approx(1_000_000, rel=0.02)
    assert str(subscription.report).startswith("a: 20 messages, 10.0/s, p50 1")


def test_a_report_is_about_the_time_since_the_last_one() -> None:
    bus = MemoryBus()
    bus.subscribe("a")
    publisher = bus.advertise("a")
    reports = bus.reports("1s")
    next(reports)
    for _ in range(55):
        publisher.publish(b"")
        bus.clock.advance("100ms")
    assert [report["a"].rate_hz for report in next(reports)] == [10]
    began_ns = bus.clock.now_ns
    assert [report.messages for report in next(reports)] == [0]
    assert 0 < bus.clock.now_ns - began_ns <= 1_000_000_000


def test_a_client_that_leaves_takes_nobody_elses_time() -> None:
    bus = MemoryBus(delay="10ms")
    subscription, publisher, other = bus.subscribe("a"), bus.advertise("a"), bus.connect()
    its_own = other.advertise("a")
    publisher.publish(b"x")
    its_own.publish(b"last")
    other.close()
    assert [message.payload for message in subscription.receive_many(9)] == [b"last"]
    bus.clock.advance("10ms")
    assert payloads(subscription) == [b"x"]


def test_a_typed_publisher_takes_attributes() -> None:
    class Reading(msgspec.Struct):
        on: bool

    bus = MemoryBus()
    subscription = bus.subscribe("t", type=Reading)
    bus.advertise("t", type=Reading).publish(Reading(True), attributes={"bed": 3, "ward": "north"})
    message = subscription.receive("1s")
    assert (message.value, message.attributes["bed"]) == (Reading(True), 3)


def test_a_message_that_the_broker_would_drop_is_too_large() -> None:
    bus = MemoryBus()
    subscription, publisher = bus.subscribe("a"), bus.advertise("a")
    with pytest.raises(giusto.errors.TooLarge, match="1048576"):
        publisher.publish(bytes(2**20 + 1))
    publisher.publish(bytes(2**20))
    assert len(subscription.receive("1s").payload) == 2**20


@pytest.mark.parametrize("offer", [Offer(queue=65_535), Offer(max_size=2**24 - 56), Offer(max_size=1)])
def test_every_offer_that_can_be_made_is_one_that_a_broker_takes(offer: Offer) -> None:
    assert MemoryBus().advertise("a", offer).credit > 0


@pytest.mark.parametrize("limits", [{"queue": 65_536}, {"max_size": 2**24 - 55}, {"max_size": 0}])
def test_an_offer_beyond_what_a_broker_takes_is_refused_with_its_name(limits: dict[str, int]) -> None:
    with pytest.raises(giusto.errors.InvalidInput, match=next(iter(limits))):
        Offer(**limits)  # type: ignore[arg-type]


def test_the_broker_in_memory_takes_a_configuration() -> None:
    bus = MemoryBus(BrokerConfig(input="edf"))
    assert bus.status().input == "edf"


def test_the_same_program_gives_the_same_times_again() -> None:
    def program() -> list[tuple[bytes, int, int]]:
        bus = MemoryBus(delay="2ms", name="same")
        subscription = bus.subscribe("#")
        publishers = [bus.advertise(f"t/{number}", Offer(queue=4)) for number in range(3)]
        for turn in range(20):
            for number, publisher in enumerate(publishers):
                publisher.publish(b"%d" % (turn * number), priority=number)
            bus.clock.advance("1ms")
        return [(one.payload, one.sent_ns, one.received_ns) for one in subscription]

    first = program()
    assert len(first) == 60
    assert program() == first


def test_contracts_cannot_be_kept_in_memory_and_it_says_so() -> None:
    config = BrokerConfig(guarantee=Guarantee(store="contracts.db"))
    with pytest.raises(giusto.errors.InvalidInput, match=r"guarantee\.store = contracts\.db: expected none"):
        MemoryBus(config)
