"""Refusals that a person can act on: whose promise it is, and figures that are granted when asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from giusto import Granted, Need, Offer, Refused
from giusto.config import BrokerConfig, Guarantee
from giusto.testing import MemoryBus

ALARM = Offer(min_sep="4ms", max_size=256)
SELDOM = Offer(min_sep="1s", max_size=256)
POLICIES = ("twrr", "smooth", "fair", "edf")


def refused(call: Any, *arguments: Any) -> Refused:
    with pytest.raises(Refused) as found:
        call(*arguments)
    return found.value


def nearest_ns(error: Refused) -> str:
    """The latency that a refusal names, as a need takes it."""
    assert error.nearest is not None
    assert error.nearest.max_latency_ns is not None
    return f"{error.nearest.max_latency_ns}ns"


def ward(beds: int, config: BrokerConfig | None = None, offer: Offer = ALARM) -> MemoryBus:
    """A bus on which every bed has its own alarm."""
    bus = MemoryBus(name="bed-1", config=config or BrokerConfig())
    for number in range(1, beds + 1):
        bed = bus if number == 1 else bus.connect(name=f"bed-{number}")
        bed.advertise(f"ward/{number}/alarm", offer)
    return bus


# --- whose promise it is


@pytest.mark.parametrize("asked", ["100ms", "1us"])
def test_a_subscriber_that_would_break_the_promise_of_another_hears_whose_it_is(asked: str) -> None:
    bus = ward(3)
    pager = bus.connect(name="pager")
    pager.subscribe(
        "ward/+/alarm",
        Need(max_latency=nearest_ns(refused(pager.subscribe, "ward/+/alarm", Need(max_latency="1us")))),
    )
    error = refused(bus.connect(name="station").subscribe, "ward/+/alarm", Need(max_latency=asked))
    assert error.why == "others"
    assert "promised to 'pager' by ward/+/alarm" in error.reason
    assert "a longer max_latency would not help" in error.reason
    assert error.nearest is None or error.nearest.max_latency_ns is None


def test_a_publisher_hears_whose_promise_it_would_break_and_no_latency_to_ask_for() -> None:
    bus = MemoryBus(name="nurse")
    asked = nearest_ns(refused(bus.subscribe, "alarm", Need(max_latency="1ns")))
    bus.subscribe("alarm", Need(max_latency=asked))
    error = refused(bus.connect(name="bed").advertise, "alarm", ALARM)
    assert error.why == "others"
    assert "promised to 'nurse' by alarm" in error.reason
    assert error.nearest is None or error.nearest.max_latency_ns is None


def test_an_own_latency_that_is_too_short_is_its_own_matter() -> None:
    bus = ward(1)
    bus.connect(name="pager").subscribe("ward/1/alarm", Need(max_latency="50ms"))
    error = refused(bus.connect(name="station").subscribe, "ward/1/alarm", Need(max_latency="1us"))
    assert error.why == "latency"
    assert "0.001 ms cannot be promised" in error.reason
    assert "pager" not in error.reason


# --- what would help


@pytest.mark.parametrize("policy", POLICIES)
def test_the_tolerance_that_is_named_is_enough_and_a_little_less_is_not(policy: str) -> None:
    config = BrokerConfig(input=policy)
    error = refused(ward(20, config, SELDOM).subscribe, "ward/+/alarm", Need(max_latency="1s"))
    assert error.why == "tolerance"
    assert error.nearest is not None
    tolerance_ns = error.nearest.tolerance_ns
    assert tolerance_ns is not None
    assert "a guarantee.tolerance of" in str(error)
    enough = replace(config, guarantee=Guarantee(tolerance_ns=tolerance_ns))
    ward(20, enough, SELDOM).subscribe("ward/+/alarm", Need(max_latency="1s"))
    less = replace(config, guarantee=Guarantee(tolerance_ns=tolerance_ns - 20_000))
    assert (
        refused(ward(20, less, SELDOM).subscribe, "ward/+/alarm", Need(max_latency="1s")).why == "tolerance"
    )


def test_the_tolerance_that_is_named_is_the_one_of_the_configuration() -> None:
    config = BrokerConfig(guarantee=Guarantee(link_delay_in_ns=3_000_000))
    error = refused(ward(20, config, SELDOM).subscribe, "ward/+/alarm", Need(max_latency="1s"))
    assert error.nearest is not None
    assert error.nearest.tolerance_ns is not None
    guarantee = replace(config.guarantee, tolerance_ns=error.nearest.tolerance_ns)
    ward(20, replace(config, guarantee=guarantee), SELDOM).subscribe("ward/+/alarm", Need(max_latency="1s"))


def test_an_offer_without_max_size_is_told_so_and_which_would_do() -> None:
    error = refused(ward(1, offer=Offer(min_sep="10ms")).subscribe, "ward/1/alarm", Need(max_latency="50ms"))
    assert error.why == "overload"
    assert (
        "client 'bed-1' offers 1,048,576 bytes on ward/1/alarm at 100/s (max_size is not set)" in error.reason
    )
    assert error.nearest is not None
    size = error.nearest.max_size_bytes
    assert size is not None
    assert f"a max_size of {size}" in str(error)
    smaller = ward(1, offer=Offer(min_sep="10ms", max_size=size))
    smaller.subscribe("ward/1/alarm", Need(max_latency="50ms"))


def test_the_nearest_rate_says_whose_it_is() -> None:
    bus = ward(2, BrokerConfig(guarantee=Guarantee(tolerance_ns=50_000_000)), Offer(rate=2_000, max_size=64))
    error = refused(bus.subscribe, "ward/+/alarm", Need(max_latency="20ms"))
    assert error.nearest is not None
    assert error.nearest.publishers == ("bed-1", "bed-2")
    assert "/s from 'bed-1', 'bed-2'" in str(error)


def test_other_traffic_is_refused_with_its_own_figures_and_the_largest_size_that_is_admitted() -> None:
    bus = ward(1)
    bus.subscribe("ward/1/alarm", Need(max_latency="5ms"))
    for _ in range(3):
        bus.connect().subscribe("film")
    error = refused(bus.connect().advertise, "film", Offer(max_size=10_000_000))
    assert error.why == "others"
    assert "10,000,000 bytes to 3 subscriptions" in error.reason
    assert "rounded up to powers of two" in error.reason
    assert error.nearest is not None
    size = error.nearest.max_size_bytes
    assert size is not None
    assert refused(bus.connect().advertise, "film", Offer(max_size=size + 1)).why == "others"
    bus.connect().advertise("film", Offer(max_size=size))


# --- how it comes about


def test_a_refusal_has_the_parts_of_the_bound_that_is_too_long() -> None:
    error = refused(ward(1).subscribe, "ward/1/alarm", Need(max_latency="1us"))
    assert error.nearest is not None
    assert sum(ns for _, ns, _ in error.parts) == error.nearest.max_latency_ns
    assert "blocking (A3)" in error.explanation
    assert error.explanation.endswith("in all")


def test_a_refusal_that_is_not_about_a_bound_has_nothing_to_explain() -> None:
    error = refused(ward(1, offer=Offer(max_size=9)).subscribe, "ward/1/alarm", Need(max_latency="1s"))
    assert (error.why, error.parts, error.explanation) == ("no_limit", (), "")


def test_a_promise_that_leaves_no_slack_says_so() -> None:
    bus = ward(1)
    nearest = nearest_ns(refused(bus.subscribe, "ward/1/alarm", Need(max_latency="1us")))
    assert "no slack" in str(bus.subscribe("ward/1/alarm", Need(max_latency=nearest)).verdict)
    assert "no slack" not in str(ward(1).subscribe("ward/1/alarm", Need(max_latency="1s")).verdict)


# --- where nobody publishes yet


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("pattern", ["alarm", "#"])
def test_a_latency_that_no_message_can_have_is_refused_before_anybody_publishes(
    policy: str, pattern: str
) -> None:
    bus = MemoryBus(config=BrokerConfig(input=policy))
    error = refused(bus.subscribe, pattern, Need(max_latency="1ns"))
    assert error.why == "latency"
    assert isinstance(bus.subscribe(pattern, Need(max_latency=nearest_ns(error))).verdict, Granted)
    bus.connect().advertise("alarm", Offer(min_sep="24h", max_size=1))
