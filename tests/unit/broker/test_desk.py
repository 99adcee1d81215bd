"""What is granted and what is refused: the whole control plane on a data plane in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from giusto import Granted, Need, Offer, Refused, Unproved
from giusto.broker.guarded import Guarded
from giusto.broker.leaving import AT_ONCE
from giusto.config import BrokerConfig, Guarantee
from giusto.contract.matching import Flow as Offered
from giusto.protocol import ShareTerms
from giusto.testing import MemoryBus

ALARM = Offer(min_sep="10ms", max_size=256)
SOON = Need(max_latency="5ms")


def guarded_of(bus: MemoryBus) -> Guarded:
    """What counts in the broker of a bus."""
    return bus._world._control.guarded


def tightest(bus: MemoryBus, topic: str, **need: Any) -> str:
    """The smallest latency that a subscription of this bus would get."""
    with pytest.raises(Refused) as refused:
        bus.subscribe(topic, Need(max_latency="1ns", **need))
    assert refused.value.nearest is not None
    return f"{refused.value.nearest.max_latency_ns}ns"


def refused(call: Any, *arguments: Any) -> Refused:
    with pytest.raises(Refused) as found:
        call(*arguments)
    return found.value


def test_a_latency_is_granted_with_its_bound_and_parts() -> None:
    bus = MemoryBus(name="monitor")
    bus.advertise("alarm", ALARM)
    verdict = bus.connect(name="nurse").subscribe("alarm", SOON).verdict
    assert isinstance(verdict, Granted)
    assert verdict.promise_ns == 5_000_000 > verdict.bound_ns == sum(part.ns for part in verdict.parts)
    assert (verdict.topic, verdict.publisher, verdict.basis) == ("alarm", "monitor", "default costs")
    assert verdict.topic_share == verdict.client_share == 1.0


def test_who_asks_for_no_latency_gets_none_promised() -> None:
    bus = MemoryBus()
    assert bus.subscribe("alarm").verdict == Unproved("no latency was asked for")


def test_the_example_of_s3_on_a_bus() -> None:
    bus = MemoryBus(name="publisher")
    bus.advertise("alarm", Offer(min_sep="15ms", max_sep="15ms", max_size=256))
    a = bus.connect(name="A").subscribe("alarm", Need(max_sep="20ms", max_latency="10ms"))
    assert isinstance(a.verdict, Granted)
    b = refused(bus.connect(name="B").subscribe, "alarm", Need(max_sep="14ms", max_latency="10ms"))
    assert b.why == "max_sep"
    c = refused(bus.connect(name="C").subscribe, "alarm", Need(max_sep="20ms", max_latency="1us"))
    assert c.why == "latency"


def test_a_refusal_that_is_about_very_many_flows_says_that_nothing_was_looked_for() -> None:
    bus = MemoryBus(config=BrokerConfig(guarantee=Guarantee(tolerance_ns=1_000_000_000)))
    for number in range(360):
        bus.advertise(f"ward/{number}", Offer(min_sep="10s", max_size=16))
    error = refused(bus.connect(name="nurse").subscribe, "ward/+", Need(max_latency="1us"))
    assert (error.why, error.nearest) == ("latency", None)
    assert "so many flows" in error.reason


def test_the_nearest_is_granted_and_one_nanosecond_less_is_not() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    nearest = tightest(bus, "alarm")
    less = f"{int(nearest[:-2]) - 1}ns"
    assert refused(bus.subscribe, "alarm", Need(max_latency=less)).why == "latency"
    verdict = bus.subscribe("alarm", Need(max_latency=nearest)).verdict
    assert isinstance(verdict, Granted)
    assert verdict.promise_ns == verdict.bound_ns


def test_a_later_publisher_may_not_break_what_was_promised_and_hears_its_largest_rate() -> None:
    bus = MemoryBus(name="monitor")
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", Need(max_latency="4ms"))
    late = bus.connect(name="late")
    error = refused(late.advertise, "alarm", Offer(rate=50_000, max_size=256))
    assert error.why in ("others", "overload")
    assert error.nearest is not None
    assert error.nearest.count is not None
    late.advertise("alarm", Offer(rate=f"{error.nearest.count}/{error.nearest.period_ns}ns", max_size=256))
    bound_ns = guarded_of(bus).bound_ns("alarm")
    assert bound_ns is not None
    assert bound_ns <= 4_000_000


def test_a_refused_request_changes_nothing() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    before = guarded_of(bus).book.supplies, guarded_of(bus).book.demands
    refused(bus.subscribe, "alarm", Need(max_latency="1ns"))
    assert (guarded_of(bus).book.supplies, guarded_of(bus).book.demands) == before == ((), ())
    assert bus.subscribers("alarm") == []


# --- limits


def test_no_latency_is_promised_where_somebody_publishes_without_a_limit() -> None:
    bus = MemoryBus(name="flood")
    bus.advertise("alarm", Offer(max_size=256))
    error = refused(bus.subscribe, "alarm", SOON)
    assert (error.why, error.nearest) == ("no_limit", None)
    assert "flood publishes on alarm without a limit" in str(error)


def test_nobody_may_publish_without_a_limit_where_a_latency_is_promised() -> None:
    bus = MemoryBus()
    bus.subscribe("alarm", SOON)
    assert refused(bus.connect().advertise, "alarm", Offer(max_size=256)).why == "no_limit"
    assert bus.publishers("alarm") == []


def test_a_guarded_publisher_publishes_nothing_else_without_a_limit() -> None:
    bus = MemoryBus(name="monitor")
    watcher = bus.connect()
    log = bus.advertise("log")
    bus.advertise("alarm", ALARM)
    assert refused(watcher.subscribe, "alarm", SOON).why == "unlimited_beside"
    log.unadvertise()
    watcher.subscribe("alarm", SOON)
    error = refused(bus.advertise, "log")
    assert (error.why, "on log without a limit" in str(error)) == ("unlimited_beside", True)
    bus.connect().advertise("log")


def test_what_a_guarded_publisher_sends_elsewhere_counts_as_it_is_read() -> None:
    bus = MemoryBus(name="monitor")
    watcher = bus.connect()
    bus.advertise("alarm", ALARM)
    watcher.subscribe("alarm", SOON)
    before_ns = guarded_of(bus).bound_ns("alarm")
    log = bus.advertise("log", Offer(rate=100, burst=10, max_size=1000))
    after_ns = guarded_of(bus).bound_ns("alarm")
    assert before_ns is not None
    assert after_ns is not None
    assert after_ns > before_ns
    log.unadvertise()
    assert guarded_of(bus).bound_ns("alarm") == before_ns


# --- reservations for publishers to come


def test_a_need_without_publishers_is_a_reservation_that_publishers_must_keep() -> None:
    bus = MemoryBus()
    subscription = bus.subscribe("alarm", Need(max_latency=tightest(bus, "alarm")))
    verdict = subscription.verdict
    assert isinstance(verdict, Granted)
    assert (verdict.bound_ns, verdict.parts) == (verdict.promise_ns, ())
    assert refused(bus.connect().advertise, "alarm", ALARM).why == "others"


def test_a_subscription_hears_what_its_promise_comes_to_as_publishers_come_and_go() -> None:
    bus = MemoryBus(name="nurse")
    subscription = bus.subscribe("ward/+/alarm", SOON)
    first = bus.connect(name="first").advertise("ward/1/alarm", ALARM)
    bus.clock.advance("1ms")
    alone = subscription.verdict
    assert isinstance(alone, Granted)
    assert alone.parts
    assert alone.publisher == "first"
    second = bus.connect(name="second").advertise("ward/2/alarm", ALARM)
    bus.clock.advance("1ms")
    both = subscription.verdict
    assert isinstance(both, Granted)
    assert alone.bound_ns < both.bound_ns < both.promise_ns
    first.unadvertise()
    second.unadvertise()
    bus.clock.advance("1s")
    assert subscription.verdict == Granted(5_000_000, 5_000_000, basis="default costs")


def test_a_publisher_that_comes_later_must_keep_a_max_sep_that_was_granted() -> None:
    bus = MemoryBus(name="nurse")
    bus.subscribe("alarm", Need(max_sep="20ms"))
    late = bus.connect()
    error = refused(late.advertise, "alarm", Offer(max_sep="21ms"))
    assert error.why == "max_sep"
    assert "the need of nurse is at least one message per 20 ms" in str(error)
    late.advertise("alarm", Offer(max_sep="20ms"))


@pytest.mark.parametrize("need", [Need(max_sep="20ms"), Need(rate=50)])
def test_a_max_sep_on_a_wildcard_is_asked_of_the_publishers_that_are_there(need: Need) -> None:
    bus = MemoryBus(name="watcher")
    log = bus.advertise("log")
    nurse = bus.connect(name="nurse")
    assert "watcher on log promises no max_sep" in str(refused(nurse.subscribe, "#", need))
    log.unadvertise()
    nurse.subscribe("#", need)
    bus.advertise("log")
    # Who comes back for it is not asked again.
    nurse.break_connection()
    bus.clock.advance("10s")
    assert [party.name for party in bus.subscribers("log")] == ["nurse"]


def test_topics_keep_their_order_in_the_data_plane_under_smooth() -> None:
    bus = MemoryBus(BrokerConfig(input="smooth"))
    bus.subscribe("#", SOON)
    for topic in ("b", "a"):
        bus.connect().advertise(topic, ALARM)
    assert {name: one.place for name, one in guarded_of(bus).topics.items()} == {"b": 0, "a": 1}


@pytest.mark.parametrize("policy", ["twrr", "smooth", "fair", "edf"])
def test_every_policy_grants_and_refuses(policy: str) -> None:
    bus = MemoryBus(BrokerConfig(input=policy))
    bus.advertise("alarm", ALARM)
    bus.connect().advertise("curve", Offer(min_sep="2ms", max_size=1000))
    verdict = bus.subscribe("#", Need(max_latency=tightest(bus, "#"))).verdict
    assert isinstance(verdict, Granted)
    assert verdict.bound_ns == verdict.promise_ns


# --- wildcards and fan-out


def test_a_wildcard_guards_every_topic_that_it_covers() -> None:
    bus = MemoryBus()
    for topic in ("ward/1/alarm", "ward/2/alarm", "log"):
        bus.connect().advertise(topic, ALARM)
    bus.subscribe("ward/+/alarm", SOON)
    bus.connect().advertise("ward/3/alarm", ALARM)
    assert set(guarded_of(bus).topics) == {"ward/1/alarm", "ward/2/alarm", "ward/3/alarm"}
    assert not bus.explain("log").is_guarded


@pytest.mark.parametrize("need", [SOON, Need(max_sep="1ms")])
def test_a_wildcard_in_the_first_place_asks_nothing_of_reply_topics(need: Need) -> None:
    bus = MemoryBus()
    bus.connect().advertise("_reply/before")
    bus.subscribe("#", need)
    bus.subscribe("+/+", need)
    bus.connect().advertise("_reply/after")
    assert guarded_of(bus).topics == {}
    error = refused(bus.connect().subscribe, "_reply/+", need)
    assert "on _reply/before" in str(error)


def test_a_wildcard_in_the_first_place_does_not_cover_reply_topics() -> None:
    bus = MemoryBus()
    all_of_it, named = bus.subscribe("#"), bus.subscribe("_reply/#")
    bus.connect().advertise("_reply/x").publish(b"x")
    assert named.receive("1s").payload == b"x"
    assert all_of_it.available() == 0


def test_everybody_who_receives_a_guarded_topic_counts_once() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", SOON)
    bus.subscribe("#")
    assert bus.explain("alarm").fanout == 1
    other = bus.connect()
    also = other.subscribe("alarm")
    assert bus.explain("alarm").fanout == 2
    also.unsubscribe()
    assert bus.explain("alarm").fanout == 1


def test_a_best_effort_subscriber_is_refused_only_if_it_would_break_a_promise() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", Need(max_latency=tightest(bus, "alarm")))
    other = bus.connect()
    other.subscribe("log")
    error = refused(other.subscribe, "#")
    assert error.why == "others"
    assert other.subscribe("log/#").verdict == Unproved("no latency was asked for")


def test_the_share_of_a_guarded_topic_changes_only_as_promises_allow() -> None:
    bus = MemoryBus()
    watcher = bus.connect()
    for topic in ("alarm", "curve"):
        bus.connect().advertise(topic, Offer(min_sep="10ms", burst=8, max_size=256))
    bus.allot("alarm", weight=4)
    watcher.subscribe("curve", Need(max_latency="50ms"))
    watcher.subscribe("alarm", Need(max_latency=tightest(watcher, "alarm")))
    assert refused(lambda: bus.allot("curve", weight=60)).why == "others"
    assert bus.views("curve").shares == [ShareTerms()]
    bus.allot("alarm", weight=8)
    assert guarded_of(bus).topics["alarm"].share == ShareTerms(weight=8)


# --- who receives it


def test_filters_on_a_guarded_topic_count_and_too_many_are_refused() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", SOON)
    before_ns = guarded_of(bus).bound_ns("alarm")
    watcher = bus.connect(name="watcher")
    watcher.subscribe("alarm", filter="spo2 < 90 or pulse > 120")
    allotted = guarded_of(bus).topics["alarm"]
    assert (allotted.fanout, allotted.subscriptions, allotted.comparisons) == (2, 2, 2)
    after_ns = guarded_of(bus).bound_ns("alarm")
    assert before_ns is not None
    assert after_ns is not None
    assert before_ns < after_ns
    many = " or ".join(f"spo2 < {number}" for number in range(256))
    assert refused(lambda: watcher.subscribe("alarm", filter=many)).why == "others"
    assert guarded_of(bus).topics["alarm"] == allotted


def test_subscriptions_of_one_client_count_one_by_one_until_they_end() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", Need(max_latency="50ms"))
    further = [bus.subscribe("#", filter=f"spo2 < {number}") for number in range(10)]
    allotted = guarded_of(bus).topics["alarm"]
    assert (allotted.fanout, allotted.subscriptions, allotted.comparisons) == (1, 11, 10)
    for subscription in further:
        subscription.unsubscribe()
    allotted = guarded_of(bus).topics["alarm"]
    assert (allotted.fanout, allotted.subscriptions, allotted.comparisons) == (1, 1, 0)


def test_filters_on_other_topics_may_not_hold_up_what_was_promised() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", SOON)
    other = bus.connect()
    other.advertise("log", Offer(max_size=256))
    long = " or ".join(f"level = {number}" for number in range(250))
    other.subscribe("log", filter=long)
    error = refused(lambda: [other.subscribe("log", filter=long) for _ in range(60)])
    assert error.why == "others"
    assert "and 8,192 comparisons" in error.reason


def test_filters_on_a_topic_whose_publisher_has_gone_count_since_its_messages_may_wait() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", SOON)
    other = bus.connect()
    other.advertise("log", Offer(max_size=256)).unadvertise()
    long = " or ".join(f"level = {number}" for number in range(250))
    error = refused(lambda: [other.subscribe("log", filter=long) for _ in range(120)])
    assert error.why == "others"
    assert "8,192 comparisons" in error.reason


def test_messages_that_wait_go_through_all_filters_when_their_topic_comes_under_contract() -> None:
    bus = MemoryBus()
    other = bus.connect()
    other.advertise("log", Offer(max_size=256)).unadvertise()
    long = " or ".join(f"level = {number}" for number in range(250))
    other.subscribe("log", filter=long)
    bus.subscribe("log", Need(max_latency="1s"))
    control = bus._world._control
    draft = control._requests._desk.offered(control.registry.clients[bus._conn], "log", ALARM)
    assert draft.asks.comparisons >= 250


def test_the_filter_of_a_client_that_is_away_counts_until_it_is_back() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    nurse = bus.connect(name="nurse", reconnect=False)
    nurse.subscribe("alarm", SOON, filter="spo2 < 90")
    allotted = guarded_of(bus).topics["alarm"]
    assert (allotted.subscriptions, allotted.comparisons) == (1, 1)
    nurse.break_connection()
    bus.subscribe("alarm")
    assert guarded_of(bus).topics["alarm"].comparisons == 1
    bus.connect(name="nurse").subscribe("alarm", SOON, filter="spo2 < 90")
    again = guarded_of(bus).topics["alarm"]
    assert (again.fanout, again.subscriptions, again.comparisons) == (2, 2, 1)
    assert not guarded_of(bus).contracts.away


def test_a_burst_that_its_queue_is_not_sure_to_hold_is_refused_with_a_queue_that_would() -> None:
    bus = MemoryBus(BrokerConfig(guarantee=Guarantee(tolerance_ns=200_000_000)))
    offer = {"min_sep": "10ms", "burst": 1_000, "max_size": 16}
    bus.advertise("alarm", Offer(**offer))
    error = refused(bus.subscribe, "alarm", Need(max_latency="10s"))
    assert error.why == "queue"
    assert "offer a queue of 1,427" in error.reason
    bus.connect().advertise("curve", Offer(**offer, queue=1_427))
    assert isinstance(bus.subscribe("curve", Need(max_latency="10s")).verdict, Granted)
    late = bus.connect(name="late")
    assert refused(late.advertise, "curve", Offer(**offer)).why == "queue"


def test_a_contract_that_needs_more_bytes_than_may_wait_is_refused_and_names_the_setting() -> None:
    offer, tolerant = Offer(min_sep="1s", burst=10, max_size=10_000), Guarantee(tolerance_ns=50_000_000)
    bus = MemoryBus(BrokerConfig(output_bytes=50_000, guarantee=tolerant))
    bus.connect(name="camera").advertise("image", offer)
    error = refused(bus.subscribe, "image", Need(max_latency="500ms"))
    assert error.why == "output"
    assert "camera may have 11 messages of 10,000 bytes under way on image" in error.reason
    assert "raise broker.output_bytes to 110,616" in error.reason
    enough = MemoryBus(BrokerConfig(output_bytes=110_616, guarantee=tolerant))
    enough.advertise("image", offer)
    assert isinstance(enough.subscribe("image", Need(max_latency="500ms")).verdict, Granted)
    late = Offer(min_sep="1s", burst=11, max_size=10_000)
    assert refused(enough.connect(name="late").advertise, "image", late).why == "output"
    assert bus.connect().subscribe("image", Need()).verdict is not None


def test_who_comes_back_for_its_place_is_not_refused_for_a_promise_that_was_made_meanwhile() -> None:
    bus = MemoryBus(BrokerConfig(guarantee=Guarantee(tolerance_ns=200_000_000)))
    offer = Offer(min_sep="10ms", max_size=256, queue=40)
    monitor = bus.connect(name="monitor", reconnect=False)
    monitor.advertise("alarm", offer)
    bus.connect(name="nurse").subscribe("alarm", Need(max_latency="20ms"))
    monitor.break_connection()
    error = refused(bus.connect(name="doctor").subscribe, "alarm", Need(max_latency="10s"))
    assert error.why == "queue"
    assert "monitor may have 71 messages under way" in error.reason
    bus.connect(name="monitor").advertise("alarm", offer)


# --- the rest


def test_other_traffic_is_never_refused_while_it_fits() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", Need(max_latency=tightest(bus, "alarm")))
    other = bus.connect()
    for number in range(50):
        other.advertise(f"log/{number}", Offer(max_size=65_536))
        bus.connect().subscribe("log/#")


def test_a_publisher_that_says_nothing_fits_beside_an_ordinary_promise() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", SOON)
    bus.connect().advertise("log").publish(b"x")


def test_messages_that_would_be_read_too_late_for_the_policer_are_in_the_way() -> None:
    bus = MemoryBus()
    bus.connect().advertise("film", Offer(max_size=10_000_000))
    bus.advertise("alarm", ALARM)
    error = refused(bus.subscribe, "alarm", Need(max_latency="1s"))
    assert error.why == "tolerance"
    assert "raise guarantee.tolerance" in str(error)


def test_other_traffic_with_messages_that_would_break_a_promise_is_refused() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    bus.subscribe("alarm", Need(max_latency=tightest(bus, "alarm")))
    error = refused(bus.connect().advertise, "log", Offer(max_size=10_000_000))
    assert error.why == "others"
    assert "offer a smaller max_size" in str(error)


def test_what_other_traffic_has_left_can_be_promised_again_when_its_topic_is_forgotten() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    nearest = Need(max_latency=tightest(bus, "alarm"))
    log = bus.connect().advertise("log", Offer(max_size=4_000_000))
    assert refused(bus.subscribe, "alarm", nearest).why == "latency"
    log.unadvertise()
    # A message of it may still wait.
    assert refused(bus.subscribe, "alarm", nearest).why == "latency"
    for _ in range(2):
        bus._world._control.forget_vacant()
    assert isinstance(bus.subscribe("alarm", nearest).verdict, Granted)


# --- what ends


def test_a_topic_is_free_again_when_the_promise_has_ended() -> None:
    bus = MemoryBus()
    bus.advertise("alarm", ALARM)
    subscription = bus.subscribe("alarm", SOON)
    subscription.unsubscribe()
    assert (guarded_of(bus).topics, guarded_of(bus).book.supplies) == ({}, ())
    bus.connect().advertise("alarm")


def test_a_topic_stays_guarded_while_messages_of_it_wait() -> None:
    bus = MemoryBus()
    control = bus._world._control
    bus.advertise("alarm", ALARM)
    subscription = bus.subscribe("alarm", SOON)
    control._plane, plane = None, control._plane
    control.leaving._releasing._plane = Reluctant()
    subscription_of = next(iter(guarded_of(bus).contracts.by_key.values())).subscription
    assert subscription_of is not None
    control.registry.remove_subscription(subscription_of)
    control.leaving.unsubscribed(subscription_of)
    assert set(guarded_of(bus).topics) == {"alarm"}
    assert control.leaving.has_due
    flow = Offered("late", "alarm", Offer())
    with pytest.raises(Refused, match=r"was promised on alarm.*ask again in half a minute"):
        control._requests._desk.offered(control.registry.clients[bus._conn], flow.topic, flow.offer)
    control.leaving._releasing._plane = control._plane = plane
    bus.clock.advance("1s")
    assert guarded_of(bus).topics == {}
    assert not control.leaving.has_due
    assert subscription.available() == 0


class Reluctant:
    """A data plane in which messages of every topic wait."""

    def guard(self, topics: list[int], guarded: bool) -> list[int]:
        return topics if guarded else []


def with_messages_waiting(bus: MemoryBus) -> Callable[[], None]:
    """From now on messages of every topic wait; what lets them out."""
    control = bus._world._control
    plane = control._plane
    control.leaving._releasing._plane = Reluctant()

    def let_out() -> None:
        control.leaving._releasing._plane = plane

    return let_out


def test_a_publisher_that_ends_after_its_subscriber_counts_while_its_messages_wait() -> None:
    bus = MemoryBus()
    publisher = bus.connect(name="monitor").advertise("alarm", ALARM)
    subscription = bus.connect(name="nurse").subscribe("alarm", SOON)
    let_out = with_messages_waiting(bus)
    subscription.unsubscribe()
    publisher.unadvertise()
    bus.clock.advance("1s")
    assert [supply.client for supply in guarded_of(bus).book.supplies] == ["monitor"]
    let_out()
    bus.clock.advance("60s")
    assert (guarded_of(bus).book.supplies, guarded_of(bus).topics) == ((), {})
    assert not bus._world._control.leaving.has_due


def test_a_publisher_that_ends_before_its_subscriber_counts_while_its_messages_wait() -> None:
    bus = MemoryBus()
    publisher = bus.connect(name="monitor").advertise("alarm", ALARM)
    subscription = bus.connect(name="nurse").subscribe("alarm", SOON)
    let_out = with_messages_waiting(bus)
    publisher.unadvertise()
    subscription.unsubscribe()
    bus.clock.advance("1s")
    assert [supply.client for supply in guarded_of(bus).book.supplies] == ["monitor"]
    let_out()
    bus.clock.advance("60s")
    assert guarded_of(bus).book.supplies == ()


def test_messages_that_wait_when_something_is_promised_again_count_as_long_as_that() -> None:
    bus = MemoryBus()
    publisher = bus.connect(name="monitor").advertise("alarm", ALARM)
    subscription = bus.connect(name="nurse").subscribe("alarm", SOON)
    with_messages_waiting(bus)
    subscription.unsubscribe()
    publisher.unadvertise()
    bus.clock.advance("1s")
    bus.connect(name="doctor").subscribe("alarm", Need(max_latency="10s"))
    bus.clock.advance("9s")
    assert len(guarded_of(bus).book.supplies) == 1
    bus.clock.advance("3s")
    assert guarded_of(bus).book.supplies == ()


def test_who_offers_anew_where_messages_wait_without_a_promise_counts_as_both_offers() -> None:
    bus = MemoryBus()
    monitor = bus.connect(name="monitor")
    publisher = monitor.advertise("alarm", Offer(min_sep="10ms", max_size=256, burst=4))
    other = bus.connect(name="nurse").subscribe("alarm", SOON)
    # It stays under contract beside, so that its flows count.
    monitor.advertise("pulse", ALARM)
    bus.connect(name="doctor").subscribe("pulse", SOON)
    let_out = with_messages_waiting(bus)
    other.unsubscribe()
    publisher.unadvertise()
    bus.clock.advance("1s")
    monitor.advertise("alarm", ALARM)
    bus.clock.advance("1s")
    (held,) = guarded_of(bus).holdings.on("alarm")
    assert held.supply != held.own
    let_out()
    bus.clock.advance("60s")
    (held,) = guarded_of(bus).holdings.on("alarm")
    assert held.supply == held.own
    assert "alarm" not in guarded_of(bus).topics


def test_a_publisher_that_ends_counts_until_its_messages_are_out() -> None:
    bus = MemoryBus()
    bus.subscribe("alarm", SOON)
    publisher = bus.connect(name="monitor").advertise("alarm", ALARM)
    publisher.unadvertise()
    assert [supply.client for supply in guarded_of(bus).book.supplies] == ["monitor"]
    bus.clock.advance("1s")
    assert guarded_of(bus).book.supplies == ()
    assert guarded_of(bus).topics == {}


def test_a_client_that_says_goodbye_leaves_nothing_behind() -> None:
    bus = MemoryBus()
    nurse, monitor = bus.connect(name="nurse"), bus.connect(name="monitor")
    monitor.advertise("alarm", ALARM)
    nurse.subscribe("alarm", SOON)
    nurse.close()
    assert guarded_of(bus).contracts.by_key == {}
    monitor.close()
    bus.clock.advance("1s")
    assert guarded_of(bus).book.supplies == ()


def short_reserve() -> BrokerConfig:
    return BrokerConfig(guarantee=Guarantee(reserve_ns=10_000_000_000))


def test_the_place_of_a_client_that_vanished_is_kept_for_it() -> None:
    bus = MemoryBus(short_reserve())
    monitor = bus.connect(name="monitor", reconnect=False)
    monitor.advertise("alarm", ALARM)
    nurse = bus.connect(name="nurse", reconnect=False)
    verdict = nurse.subscribe("alarm", Need(max_latency=tightest(nurse, "alarm"))).verdict
    nurse.break_connection()
    monitor.break_connection()
    assert refused(bus.advertise, "alarm", ALARM).why == "others"
    again = bus.connect(name="nurse").subscribe("alarm", Need(max_latency=f"{verdict.promise_ns}ns"))
    assert again.verdict == verdict
    bus.connect(name="monitor").advertise("alarm", ALARM)
    assert again.verdict == verdict
    bus.clock.advance("20s")
    assert again.verdict == verdict
    assert not guarded_of(bus).contracts.away


def test_the_place_of_a_client_that_does_not_come_back_is_given_away() -> None:
    bus = MemoryBus(short_reserve())
    nurse = bus.connect(name="nurse", reconnect=False)
    bus.advertise("alarm", ALARM)
    nurse.subscribe("alarm", Need(max_latency=tightest(nurse, "alarm")))
    nurse.break_connection()
    assert refused(bus.connect().advertise, "alarm", ALARM).why == "others"
    bus.clock.advance("11s")
    assert guarded_of(bus).contracts.by_key == {}
    bus.connect().advertise("alarm", ALARM)


def test_nothing_is_kept_for_a_program_without_a_name_and_its_verdict_says_so() -> None:
    bus = MemoryBus(short_reserve(), name="watcher")
    bus.advertise("alarm", ALARM)
    nurse = bus.connect(reconnect=False)
    verdict = nurse.subscribe("alarm", SOON).verdict
    assert "no name to come back under" in str(verdict)
    nurse.break_connection()
    assert guarded_of(bus).contracts.by_key == {}
    assert "no name" not in str(bus.subscribe("alarm", SOON).verdict)


def test_a_publisher_without_a_name_that_is_started_again_and_again_is_not_in_its_own_way() -> None:
    bus = MemoryBus(name="nurse")
    bus.subscribe("alarm", Need(max_latency="10ms"))
    for _ in range(20):
        monitor = bus.connect(reconnect=False)
        monitor.advertise("alarm", Offer(rate=200, burst=10, max_size=1000))
        monitor.break_connection()
        bus.clock.advance("1s")
    assert guarded_of(bus).book.supplies == ()


def test_who_comes_back_may_ask_for_something_else() -> None:
    bus = MemoryBus(short_reserve())
    bus.advertise("alarm", ALARM)
    nurse = bus.connect(name="nurse", reconnect=False)
    nurse.subscribe("alarm", SOON)
    nurse.break_connection()
    verdict = bus.connect(name="nurse").subscribe("alarm", Need(max_latency="8ms")).verdict
    assert isinstance(verdict, Granted)
    assert verdict.promise_ns == 8_000_000
    assert [demand.max_latency_ns for demand in guarded_of(bus).book.demands] == [8_000_000]


def test_a_client_that_is_restored_has_its_contracts_again() -> None:
    bus = MemoryBus(short_reserve())
    monitor = bus.connect(name="monitor")
    publisher = monitor.advertise("alarm", ALARM)
    nurse = bus.connect(name="nurse")
    subscription = nurse.subscribe("alarm", SOON)
    verdict = subscription.verdict
    monitor.break_connection()
    nurse.break_connection()
    bus.clock.advance("20s")
    publisher.publish(b"x")
    assert subscription.receive("1s").payload == b"x"
    assert subscription.verdict == verdict


# --- explaining


def test_an_explanation_has_every_term_with_its_label() -> None:
    bus = MemoryBus(name="monitor")
    bus.advertise("alarm", ALARM)
    bus.connect(name="nurse").subscribe("alarm/#", SOON)
    explanation = bus.explain("alarm")
    (flow,) = explanation.flows
    assert flow.bound_ns == sum(part.ns for part in flow.parts)
    assert all(part.label for part in flow.parts)
    text = str(explanation)
    assert "promised to nurse by alarm/#: never later than 5 ms" in text
    assert all(f"{part.name} ({part.label})" in text for part in flow.parts)
    assert str(bus.explain("log")) == "log: not guarded, nobody was promised a latency on it"


def test_status_has_bound_promise_and_share() -> None:
    bus = MemoryBus(name="monitor")
    bus.advertise("alarm", ALARM)
    nurse = bus.connect(name="nurse")
    verdict = nurse.subscribe("alarm", SOON).verdict
    status = bus.status()
    (topic,) = status.topics
    assert isinstance(verdict, Granted)
    assert (topic.bound_ns, topic.promise_ns) == (verdict.bound_ns, 5_000_000)
    assert {client.name: client.share for client in status.clients} == {"monitor": 1.0, "nurse": None}


def test_who_offers_anew_counts_as_both_offers_until_the_messages_of_the_old_one_are_out() -> None:
    bus = MemoryBus(name="monitor")
    publisher = bus.advertise("alarm", Offer(min_sep="10ms", burst=5, max_size=256))
    bus.connect(name="nurse").subscribe("alarm", SOON)
    publisher.unadvertise()
    bus.advertise("alarm", Offer(min_sep="5ms", burst=1, max_size=100, jitter="1ms"))
    (wide,) = guarded_of(bus).book.supplies
    assert (wide.count, wide.period_ns, wide.burst, wide.size_bytes) == (1, 5_000_000, 5, 256)
    assert wide.jitter_ns == 1_000_000 + guarded_of(bus).book.setting.tolerance_ns
    bus.clock.advance("1s")
    (own,) = guarded_of(bus).book.supplies
    assert (own.count, own.period_ns, own.burst, own.size_bytes) == (1, 5_000_000, 1, 100)
    assert not bus._world._control.leaving.has_due


def test_many_that_offer_anew_count_as_their_new_offers_some_at_a_time() -> None:
    bus = MemoryBus(BrokerConfig(guarantee=Guarantee(tolerance_ns=200_000_000)))
    bus.subscribe("ward/#", Need(max_latency="1s"))
    monitor = bus.connect(name="monitor")
    for number in range(2 * AT_ONCE):
        monitor.advertise(f"ward/{number}", Offer(min_sep="1s", max_size=16, burst=2)).unadvertise()
        monitor.advertise(f"ward/{number}", Offer(min_sep="1s", max_size=16))
    holdings, leaving = guarded_of(bus).holdings, bus._world._control.leaving
    assert len(holdings.wide) == 2 * AT_ONCE
    for held in holdings.wide.values():
        held.quiet_ns = 0
    leaving.tend()
    assert len(holdings.wide) == AT_ONCE
    assert leaving.is_behind
    leaving.some()
    assert not holdings.wide


def test_who_comes_back_after_its_messages_are_out_counts_as_its_new_offer_alone() -> None:
    bus = MemoryBus(BrokerConfig(guarantee=Guarantee(reserve_ns=60_000_000_000)), name="watcher")
    bus.subscribe("alarm", SOON)
    first = bus.connect(name="monitor", reconnect=False)
    first.advertise("alarm", Offer(min_sep="10ms", burst=5, max_size=256))
    first.break_connection()
    bus.clock.advance("1s")
    bus.connect(name="monitor").advertise("alarm", Offer(min_sep="10ms", max_size=100))
    (own,) = guarded_of(bus).book.supplies
    assert (own.burst, own.size_bytes) == (1, 100)


def test_a_publisher_cannot_get_a_full_bucket_by_offering_anew_or_connecting_again() -> None:
    bus = MemoryBus(name="watcher")
    received = bus.subscribe("alarm", Need(max_latency="1s"))
    for burst in (20, 21, 20, 21):
        client = bus.connect(name="monitor")
        for more in (0, 1):
            publisher = client.advertise("alarm", Offer(rate="1/s", burst=burst + more, max_size=100))
            for _ in range(20):
                publisher.publish(b"now")
            bus.clock.advance(0)
            publisher.unadvertise()
        client.close()
    # One more is earned with the tolerance in the jitter of the policer at most.
    assert 22 <= received.available() <= 23


def test_a_client_comes_back_for_the_contract_with_the_same_filter() -> None:
    bus = MemoryBus(name="monitor")
    bus.advertise("alarm", ALARM)
    nurse = bus.connect(name="nurse", reconnect=False)
    filters = [None, "spo2 < 90 or pulse > 120", "spo2 < 90"]
    for text in filters:
        nurse.subscribe("alarm", SOON, filter=text)
    contracts = guarded_of(bus).contracts
    keys = list(contracts.by_key)
    nurse.break_connection()
    back = bus.connect(name="nurse")
    for text, key in zip(reversed(filters), reversed(keys), strict=True):
        back.subscribe("alarm", SOON, filter=text)
        assert contracts.by_key[key].until_ns is None
    assert list(contracts.by_key) == keys


def test_a_refused_offer_leaves_no_topic_behind_under_smooth() -> None:
    bus = MemoryBus(BrokerConfig(input="smooth"), name="nurse")
    bus.subscribe("ward/#", SOON)
    monitor = bus.connect(name="monitor")
    monitor.advertise("ward/1", ALARM)
    control = bus._world._control
    before = set(control.registry.topics)
    for number in range(2, 20):
        assert refused(monitor.advertise, f"ward/{number}", Offer(max_size=256)).why == "no_limit"
    assert set(control.registry.topics) == before
    assert set(control._plane.views()["topics"]) == before
    monitor.advertise("ward/2", ALARM)
