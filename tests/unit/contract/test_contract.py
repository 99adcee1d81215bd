"""Offers, needs and verdicts: what they accept, what they mean, how they print."""

from __future__ import annotations

import dataclasses
import pickle
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from giusto.contract import Granted, Need, Offer, Part, Unproved, duration_ns, rate_terms, show_ns, verdict
from giusto.errors import InvalidInput
from giusto.protocol import NeedTerms, OfferTerms, PartTerms, VerdictTerms


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [
        ("20ms", 20_000_000),
        (" 1.5 us ", 1_500),
        ("3µs", 3_000),
        ("3μs", 3_000),
        ("2min", 120_000_000_000),
        ("0.25s", 250_000_000),
        (".3s", 300_000_000),
        ("1h", 3_600_000_000_000),
        ("7ns", 7),
        (2, 2_000_000_000),
        (0.02, 20_000_000),
        (1 / 3, 333_333_333),
        (timedelta(milliseconds=5), 5_000_000),
        (timedelta(days=1), 86_400_000_000_000),
    ],
)
def test_a_duration_is_what_a_person_means(value: Any, nanoseconds: int) -> None:
    assert duration_ns(value) == nanoseconds


@pytest.mark.parametrize(
    "value", ["20", "ms", "20 m s", "-1ms", "1e3ms", "0.5ns", "20parsecs", "", True, None, -1, -0.5, [1]]
)
def test_what_is_no_duration_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        duration_ns(value, "max_latency")
    assert caught.value.field == "max_latency"


def test_a_text_needs_a_unit_and_is_told_no_more() -> None:
    with pytest.raises(InvalidInput, match=r"such as 20ms \(ns, us, ms, s, min, h\)$"):
        duration_ns("5")


@pytest.mark.parametrize("value", ["0s", "-1s", 0, -1])
def test_what_has_to_last_lasts_more_than_nothing(value: Any) -> None:
    with pytest.raises(InvalidInput, match="more than 0"):
        duration_ns(value, least_ns=1_000)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 1e300, "99999999999min", timedelta.max, "9" * 9_000 + "s"]
)
def test_a_duration_has_an_end(value: Any) -> None:
    with pytest.raises(InvalidInput):
        duration_ns(value)


@pytest.mark.parametrize(
    ("value", "terms"),
    [
        ("100/s", (100, 1_000_000_000)),
        ("5/10ms", (5, 10_000_000)),
        ("5 / 10 ms", (5, 10_000_000)),
        ("1/0.5s", (1, 500_000_000)),
        (250, (250, 1_000_000_000)),
        (2.5, (5, 2_000_000_000)),
        (1 / 3, (1, 3_000_000_000)),
        (Fraction(2, 7), (2, 7_000_000_000)),
    ],
)
def test_a_rate_is_an_exact_count_per_period(value: Any, terms: tuple[int, int]) -> None:
    assert rate_terms(value) == terms


@pytest.mark.parametrize(
    "value",
    [
        "100",
        "100/",
        "/s",
        "0/s",
        "1/0s",
        "1.5/s",
        0,
        -1,
        1e-9,
        float("inf"),
        True,
        None,
        "1/1.2.3s",
        "9" * 9_000 + "/s",
    ],
)
def test_what_is_no_rate_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        rate_terms(value, "rate")
    assert caught.value.field == "rate"


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (0, "0 s"),
        (7, "7 ns"),
        (1_840_000, "1.84 ms"),
        (1_840_123, "1.84 ms"),
        (120_400, "120 µs"),
        (999_999, "1000 µs"),
        (20_000_000, "20 ms"),
        (90_000_000_000, "90 s"),
        (120_000_000_000, "2 min"),
    ],
)
def test_a_duration_is_shown_with_three_digits(nanoseconds: int, shown: str) -> None:
    assert show_ns(nanoseconds) == shown


def test_an_offer_means_the_same_however_it_was_written() -> None:
    assert Offer(min_sep="20ms") == Offer(min_sep=0.02) == Offer(min_sep=timedelta(milliseconds=20))
    assert len({Offer(min_sep="20ms"), Offer(min_sep=0.02)}) == 1
    assert Offer(min_sep="20ms") != Offer(rate="1/20ms")
    assert Offer(min_sep="20ms").limit == Offer(rate="1/20ms").limit == (1, 20_000_000)


def test_an_offer_goes_over_the_wire_in_numbers() -> None:
    offer = Offer(rate="5/10ms", burst=3, max_sep="1s", max_size=256, timeout="2s", jitter="1ms", queue=8)
    assert offer.terms() == OfferTerms(
        count=5,
        period_ns=10_000_000,
        burst=3,
        jitter_ns=1_000_000,
        max_sep_ns=1_000_000_000,
        max_size_bytes=256,
        timeout_ns=2_000_000_000,
        queue=8,
    )
    assert Offer.from_terms(offer.terms()) == offer
    assert Offer.from_terms(OfferTerms()) == Offer()


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("rate", {"min_sep": "1ms", "rate": 3}),
        ("min_sep", {"min_sep": 0}),
        ("max_sep", {"min_sep": "10ms", "max_sep": "9ms"}),
        ("max_sep", {"rate": "2/10ms", "max_sep": "4ms"}),
        ("burst", {"min_sep": "10ms", "burst": 0}),
        ("burst", {"burst": 2}),
        ("burst", {"min_sep": 1, "burst": 1.5}),
        ("jitter", {"jitter": "1ms"}),
        ("max_size", {"max_size": -1}),
        ("max_size", {"max_size": "12"}),
        ("max_size", {"max_size": 2**32}),
        ("queue", {"queue": 0}),
        ("queue", {"queue": True}),
        ("queue", {"queue": 65_536}),
        ("timeout", {"timeout": 0}),
    ],
)
def test_an_offer_that_cannot_be_kept_is_refused_by_name(field: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Offer(**arguments)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("max_latency", {"max_latency": 0}),
        ("price", {"price": 3}),
        ("penalty", {"penalty": 3, "max_latency": "1ms"}),
        ("price", {"price": float("inf"), "deadline": 1}),
        ("penalty", {"penalty": -1, "deadline": 1}),
        ("penalty", {"penalty": float("nan"), "deadline": 1}),
        ("rate", {"rate": 0}),
    ],
)
def test_a_need_that_says_nothing_is_refused_by_name(field: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Need(**arguments)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "terms"),
    [
        ("rate", OfferTerms(count=3)),
        ("rate", OfferTerms(count=-3, period_ns=5)),
        ("min_sep", OfferTerms(min_sep_ns=-3)),
        ("jitter", OfferTerms(jitter_ns=-3)),
        ("queue", OfferTerms(queue=2**40)),
    ],
)
def test_terms_from_the_wire_are_checked_too(field: str, terms: OfferTerms) -> None:
    with pytest.raises(InvalidInput) as caught:
        Offer.from_terms(terms)
    assert caught.value.field == field


def test_a_need_goes_over_the_wire_in_numbers() -> None:
    need = Need(max_latency="5ms", max_sep="1s", rate=10, deadline="20ms", price=2, penalty=0.5)
    expected = NeedTerms(5_000_000, 1_000_000_000, 10, 1_000_000_000, 20_000_000, 2.0, 0.5)
    assert need.terms() == expected
    assert Need.from_terms(expected) == need


def test_a_miss_is_counted_from_the_stricter_limit() -> None:
    assert Need().latest_ns is None
    assert Need(max_latency="5ms", deadline="3ms").latest_ns == 3_000_000
    assert Need(max_latency="5ms").latest_ns == 5_000_000


@pytest.mark.parametrize(
    "contract",
    [Offer(), Offer(min_sep="10ms", max_size=256), Need(), Need(deadline="1.5ms", price=2), Offer(rate=0.5)],
)
def test_a_contract_prints_as_the_call_that_makes_it(contract: object) -> None:
    assert eval(repr(contract), {"Offer": Offer, "Need": Need}) == contract
    assert pickle.loads(pickle.dumps(contract)) == contract


def test_a_contract_reads_as_a_sentence() -> None:
    offer = Offer(min_sep="10ms", max_size=4096)
    assert str(offer) == "at most one message per 10 ms, of at most 4,096 bytes"
    assert str(Need(max_latency="5ms")) == "never later than 5 ms"
    assert str(Offer()) == "no promises"
    assert "<td>never later than</td><td>5 ms</td>" in Need(max_latency="5ms")._repr_html_()


def test_a_contract_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Offer().queue = 3


def test_a_verdict_says_what_was_proved() -> None:
    parts = [PartTerms("blocking", 1_000_000, "(B)"), PartTerms("own quantum", 840_000, "(T2)")]
    terms = VerdictTerms(5_000_000, 1_840_000, parts, 0.5, 0.25, "default costs", "alarm", "monitor")
    granted = verdict(terms)
    assert granted == Granted(
        5_000_000,
        1_840_000,
        (Part("blocking", 1_000_000, "(B)"), Part("own quantum", 840_000, "(T2)")),
        0.5,
        0.25,
        "default costs",
        "alarm",
        "monitor",
    )
    assert str(granted) == (
        "Granted: never later than 5 ms (at most 1.84 ms with what is admitted now; default costs)"
    )
    reserved = verdict(VerdictTerms(5_000_000, 5_000_000, basis="default costs"))
    assert str(reserved) == "Granted: never later than 5 ms (nobody publishes yet; default costs)"
    assert verdict(VerdictTerms(reason="nobody asked")) == Unproved("nobody asked")
    assert str(Unproved("nobody asked")) == "Unproved: nobody asked"
    assert "1.84 ms" in granted._repr_html_()
