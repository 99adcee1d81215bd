"""Durations and contracts survive being written down."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from giusto.contract import Need, Offer, duration_ns, rate_terms, show_ns
from giusto.contract.duration import NS_MAX, UNITS_NS, spell_ns, spell_rate

nanoseconds = st.integers(1, NS_MAX)
maybe = st.none() | nanoseconds.map(spell_ns)


@given(nanoseconds)
def test_a_spelled_duration_is_read_back_exactly(value: int) -> None:
    assert duration_ns(spell_ns(value)) == value


@given(st.integers(0, 10**5), st.integers(0, 999), st.sampled_from(sorted(UNITS_NS)))
def test_decimals_are_exact_or_refused(whole: int, thousandths: int, unit: str) -> None:
    exact = Fraction(whole * 1000 + thousandths, 1000) * UNITS_NS[unit]
    if exact.denominator == 1:
        assert duration_ns(f"{whole}.{thousandths:03}{unit}") == exact


@given(nanoseconds, nanoseconds)
def test_a_spelled_rate_is_read_back_exactly(count: int, period_ns: int) -> None:
    assert rate_terms(spell_rate(count, period_ns)) == (count, period_ns)


@given(st.floats(1e-5, 1e12))
def test_a_rate_in_floating_point_is_off_by_less_than_one_in_a_million(rate: float) -> None:
    count, period_ns = rate_terms(rate)
    assert abs(Fraction(count, period_ns) * 10**9 / Fraction(rate) - 1) < Fraction(1, 10**5)


@given(nanoseconds)
def test_what_is_shown_is_off_by_less_than_one_percent(value: int) -> None:
    number, unit = show_ns(value).split()
    assert abs(Fraction(number) * UNITS_NS[unit] - value) <= Fraction(value, 100)


@given(maybe, maybe, maybe, st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_need_survives_the_wire(
    latency: str | None, sep: str | None, deadline: str | None, price: float, penalty: float
) -> None:
    worth = {"price": price, "penalty": penalty} if deadline else {}
    need = Need(max_latency=latency, max_sep=sep, deadline=deadline, **worth)
    assert Need.from_terms(need.terms()) == need
    assert eval(repr(need), {"Need": Need}) == need


@given(nanoseconds, nanoseconds, st.integers(1, 2**31), maybe, maybe, st.integers(1, 65_535))
def test_an_offer_survives_the_wire(
    count: int, period_ns: int, burst: int, timeout: str | None, jitter: str | None, queue: int
) -> None:
    rate = spell_rate(count, period_ns)
    offer = Offer(rate=rate, burst=burst, timeout=timeout, jitter=jitter or 0, queue=queue)
    assert Offer.from_terms(offer.terms()) == offer
    assert eval(repr(offer), {"Offer": Offer}) == offer
