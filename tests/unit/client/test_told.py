"""What a subscriber is told of messages that it did not get, and who is told."""

from __future__ import annotations

import pytest

import giusto
from giusto import Drop, Need
from giusto.client import Report
from giusto.client.report import report
from giusto.config import BrokerConfig
from giusto.errors import Duplicate
from giusto.testing import MemoryBus


def test_a_report_tells_what_the_inbox_dropped() -> None:
    bus = MemoryBus()
    oldest = bus.subscribe("a", queue=100)
    newest = bus.subscribe("a", queue=100, overflow="drop_new")
    bus.advertise("a").publish_many([b"x"] * 1000)
    bus.clock.advance("1ms")
    for subscription in (oldest, newest):
        seen = subscription.report
        assert (seen.messages, seen.dropped, seen.lost) == (100, 900, 0)
        assert "100 messages" in str(seen)
        assert "900 dropped" in str(seen)
        assert len(list(subscription)) == seen.messages


def test_what_was_dropped_is_counted_in_its_period() -> None:
    bus = MemoryBus()
    subscription, publisher = bus.subscribe("a", queue=1), bus.advertise("a")
    found = []
    for count in (3, 1):
        publisher.publish_many([b"x"] * count)
        bus.clock.advance("1ms")
        (seen,) = bus.recent_reports()
        found.append((seen.messages, seen.dropped))
        subscription.purge()
    assert found == [(1, 2), (1, 0)]


def test_a_subscription_hears_what_the_broker_dropped_on_its_topics() -> None:
    bus = MemoryBus(BrokerConfig(output="mtep"), delay="1ms")
    told: list[Drop] = []
    need = Need(deadline="1us", price=1)
    exact = bus.subscribe("a/1", need, on_drop=told.append)
    wide = bus.subscribe("a/+", need, on_drop=told.append)
    bus.subscribe("b", on_drop=told.append)
    bus.advertise("a/1").publish_many([b"x"] * 3)
    bus.clock.advance("1s")
    assert [(drop.party, drop.topic, drop.reason, drop.count) for drop in told] == [
        (exact, "a/1", "expired_waiting", 3),
        (wide, "a/1", "expired_waiting", 3),
    ]


def test_reports_of_periods_go_to_one() -> None:
    bus = MemoryBus()
    told: list[list[Report]] = []
    bus.on_report(told.append, every="1s")
    with pytest.raises(Duplicate, match="on_report"):
        bus.on_report(told.append, every="1s")
    bus.clock.advance("2500ms")
    assert len(told) == 2


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (("a", 1, 9, 0, 0, 1, 0, 8, 8, 8, 8, 8), "a: 1 message, p50 8 ns, p99 8 ns, max 8 ns, 0 lost"),
        (("a", 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0), "a: 0 messages, 2 lost, 0 dropped, 0 late"),
        (("a", 3, 9, 0, 0, 0, 10**9, 8, 8, 8, 8, 8), "a: 3 messages, 2.0/s, p50 8 ns"),
    ],
)
def test_a_report_says_only_what_is_known(row: tuple[str, *tuple[int, ...]], line: str) -> None:
    assert str(report("a", [row])).startswith(line)  # type: ignore[list-item]
    assert str(report("#", [row])).startswith(f"#: {line}")  # type: ignore[list-item]


def test_events_of_a_bus_in_memory_end_when_nothing_is_under_way() -> None:
    bus = MemoryBus()
    bus.subscribe("a")
    bus.advertise("a")
    assert [type(event) for event in bus.events] == [giusto.Matchedness]
    with pytest.raises(giusto.TimedOut, match="event: nothing is under way"):
        bus.events.receive()


def test_a_receive_that_can_never_end_says_so() -> None:
    with pytest.raises(giusto.TimedOut, match="receive: nothing is under way"):
        MemoryBus().subscribe("a").receive()
