"""A book of promises: what it grants, what it refuses and what it says then."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from books import MS, contract, demand, grant, setting, supply
from hypothesis import given
from hypothesis import strategies as st

from giusto.contract.duration import rate_terms
from giusto.errors import Duplicate, InvalidInput, Nearest, Overload, Unknown, rate_text
from giusto.guarantee.blocking import NAMES_BYTES
from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Change, Rest
from giusto.protocol import ShareTerms


@pytest.fixture
def book() -> Book:
    return Book(setting())


def test_a_contract_that_holds_is_granted_with_a_bound_below_its_promise(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    bound = book.bound("pump", "alarm")
    assert 0 < bound.total_ns <= 5 * MS
    assert bound.total_ns == sum(part.ns for part in bound.parts)


def test_the_bound_is_the_sum_of_the_terms_that_are_written_down(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    costs = book.setting.costs
    credit_ns = costs.write.ns(64)
    own_ns = costs.serve_ns(256, 1) + credit_ns + costs.turn_ns
    parts = {part.name: part.ns for part in book.bound("pump", "alarm").parts}
    assert parts["blocking"] == book.setting.slice_ns + costs.call_ns + costs.turn_ns
    assert parts["own quantum"] == own_ns
    assert parts["wait for cells"] == costs.step.fixed_ns
    assert parts["output queue"] == 7 * own_ns + costs.write.ns(NAMES_BYTES)


def test_reading_counts_bursts_and_what_a_connection_may_bring_beside_its_messages(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm", 1_000 * MS)))
    costs = book.setting.costs
    take_ns = costs.take_ns(256) + costs.turn_ns
    offence_ns = costs.take.fixed_ns + 18 * costs.frame_ns
    others_ns = 2 * (costs.take.fixed_ns + costs.frame_ns) + 256
    reading_ns = take_ns + offence_ns + 2 * others_ns
    found = next(part.ns for part in book.bound("pump", "alarm").parts if part.name == "reading")
    # What comes meanwhile is little beside it.
    assert reading_ns <= found < reading_ns + 1_000


@pytest.mark.parametrize(
    ("rest", "action_ns"),
    [
        (Rest(size_bytes=400_000), 12_000 + 65_536 + 400_000),
        (Rest(size_bytes=0, fanout=4_096), (64 + 4_096) * 400),
        (Rest(fanout=10, comparisons=2_000), 1_500 + 10 * 400 + 2_000 * 500),
    ],
)
def test_the_longest_action_of_the_rest_is_waited_for(book: Book, rest: Rest, action_ns: int) -> None:
    change = contract("alarm", supply("pump", "alarm"), max_latency_ns=50 * MS)
    grant(book, replace(change, rest=rest))
    blocking = next(part.ns for part in book.bound("pump", "alarm").parts if part.name == "blocking")
    assert blocking == book.setting.slice_ns + action_ns + book.setting.costs.turn_ns


def test_a_latency_that_is_too_short_is_refused_with_what_it_would_get(book: Book) -> None:
    objection = book.decide(contract("alarm", supply("pump", "alarm"), max_latency_ns=100_000))
    assert objection is not None
    assert (objection.why, objection.topic, objection.own) == ("latency", "alarm", True)
    assert objection.asked_ns == 100_000
    assert objection.bound_ns is not None
    assert objection.bound_ns > 100_000
    assert "0.1 ms" in objection.sentence


def test_a_promise_is_not_broken_for_a_newcomer(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    tight = book.bound("pump", "alarm").total_ns
    grant(book, Change(demands=(demand("alarm", tight, "second reader"),)))
    objection = book.decide(contract("video", supply("camera", "video"), max_latency_ns=1_000 * MS))
    assert objection is not None
    assert (objection.topic, objection.own, objection.asked_ns) == ("alarm", False, tight)


def test_decide_changes_nothing(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    before = (book.bound("pump", "alarm"), book.topics, book.supplies, book.demands, book.utilisation)
    book.decide(contract("video", supply("camera", "video", MS)))
    book.decide(contract("video", supply("camera", "video", MS), max_latency_ns=1))
    assert (book.bound("pump", "alarm"), book.topics, book.supplies, book.demands, book.utilisation) == before


def test_a_publisher_that_is_too_fast_for_its_share_is_an_overload(book: Book) -> None:
    objection = book.decide(contract("alarm", supply("pump", "alarm", 10_000)))
    assert objection is not None
    assert (objection.why, objection.bound_ns) == ("overload", None)
    assert "no bound" in objection.sentence


def test_a_flow_without_a_bound_says_so() -> None:
    book = Book(setting())
    book.commit(Change(topics=(Allotted(topic="alarm"),), supplies=(supply("pump", "alarm", 10_000),)))
    with pytest.raises(Overload, match="no bound exists"):
        book.bound("pump", "alarm")


def test_a_demand_without_a_publisher_is_kept_for_one_that_fits(book: Book) -> None:
    grant(book, contract("alarm", max_latency_ns=MS))
    assert book.worst(["alarm"]) is None
    assert book.decide(Change(supplies=(supply("pump", "alarm"),))) is None
    objection = book.decide(Change(supplies=(supply("pump", "alarm", jitter_ns=1_000 * MS),)))
    assert objection is not None
    assert objection.own


def test_flows_beside_the_guarded_topics_count_as_what_has_to_be_read(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    before = book.bound("pump", "alarm").total_ns
    grant(book, Change(supplies=(supply("pump", "log", MS, burst=20),)))
    assert book.bound("pump", "alarm").total_ns > before
    with pytest.raises(Unknown):
        book.bound("pump", "log")


def test_the_rest_counts_once_by_its_longest_piece_of_work(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    before = book.bound("pump", "alarm").total_ns
    grant(book, Change(rest=Rest(fanout=1_024, size_bytes=100)))
    assert book.bound("pump", "alarm").total_ns > before
    objection = book.decide(Change(rest=Rest(fanout=1 << 20, size_bytes=100)))
    assert objection is not None
    assert not objection.own


def test_a_stall_of_the_machine_is_part_of_the_bound_if_it_is_asked_for() -> None:
    with_stall, without = Book(setting(include_stall=True)), Book(setting())
    for book in (with_stall, without):
        grant(book, contract("alarm", supply("pump", "alarm"), max_latency_ns=50 * MS))
    more_ns = with_stall.bound("pump", "alarm").total_ns - without.bound("pump", "alarm").total_ns
    assert more_ns >= without.setting.costs.stall_ns


def test_what_is_released_is_not_guarded_any_more(book: Book) -> None:
    pump = supply("pump", "alarm")
    grant(book, contract("alarm", pump))
    with pytest.raises(InvalidInput, match="without demands"):
        book.decide(Change(released=("alarm",)))
    grant(book, Change(demands_gone=(demand("alarm"),), released=("alarm",), supplies_gone=(pump,)))
    assert (book.topics, book.supplies, book.demands, book.utilisation) == ({}, (), (), 0.0)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (Change(supplies_gone=(supply("nobody", "alarm"),)), Unknown),
        (Change(supplies_gone=(supply("pump", "alarm", 7),)), Unknown),
        (Change(demands_gone=(demand("alarm", 7),)), Unknown),
        (Change(demands=(demand("nowhere"),)), Unknown),
        (Change(released=("nowhere",)), Unknown),
        (Change(supplies=(supply("pump", "alarm"),)), Duplicate),
        (Change(demands=(demand("alarm"),)), Duplicate),
        (Change(supplies=(supply("other", "alarm", 0),)), InvalidInput),
        (Change(supplies=(supply("other", "alarm", count=0),)), InvalidInput),
        (Change(supplies=(supply("other", "alarm", burst=0),)), InvalidInput),
        (Change(supplies=(supply("other", "alarm", jitter_ns=-1),)), InvalidInput),
        (Change(supplies=(supply("other", "alarm", size_bytes=-1),)), InvalidInput),
        (Change(demands=(demand("alarm", 0, "other"),)), InvalidInput),
        (Change(topics=(Allotted(topic="alarm", fanout=-1),)), InvalidInput),
        (Change(topics=(Allotted(topic="alarm", share=ShareTerms(weight=0)),)), InvalidInput),
        (Change(rest=Rest(fanout=-1)), InvalidInput),
    ],
)
def test_nonsense_is_a_typed_error_and_changes_nothing(
    book: Book, change: Change, error: type[Exception]
) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    before = book.bound("pump", "alarm"), book.records.copy()
    for tried in (book.decide, book.commit):
        with pytest.raises(error):
            tried(change)
    assert (book.bound("pump", "alarm"), book.records) == before


def test_huge_numbers_are_refused_or_granted_but_never_break_anything(book: Book) -> None:
    huge = 10**18
    assert (
        book.decide(contract("alarm", supply("pump", "alarm", huge, burst=huge, jitter_ns=huge))) is not None
    )
    assert book.decide(contract("alarm", supply("pump", "alarm", count=huge))) is not None
    assert book.decide(contract("alarm", supply("pump", "alarm", size_bytes=huge))) is not None
    assert book.decide(contract("alarm", supply("pump", "alarm", huge), max_latency_ns=huge)) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"input": "lottery"},
        {"fragment_bytes": 0},
        {"turn_steps": 0},
        {"period_ns": 1},
        {"period_ns": 1, "budget_ns": 2},
        {"tolerance_ns": -1},
    ],
)
def test_a_setting_that_means_nothing_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        Book(setting(**fields))  # type: ignore[arg-type]


def test_the_nearest_latency_is_granted_and_a_part_in_a_thousand_less_is_not(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm"), max_latency_ns=2 * MS))
    refused = contract("video", supply("camera", "video"), max_latency_ns=1)
    least_ns = book.nearest(refused).max_latency_ns
    assert least_ns is not None
    assert book.decide(contract("video", supply("camera", "video"), max_latency_ns=least_ns)) is None
    less_ns = least_ns - least_ns // 1_000
    assert book.decide(contract("video", supply("camera", "video"), max_latency_ns=less_ns)) is not None


def test_the_nearest_rate_is_granted_and_a_part_in_a_thousand_faster_is_not(book: Book) -> None:
    refused = contract("video", supply("camera", "video", 10_000))
    found = book.nearest(refused)
    assert found.count == 1
    assert found.period_ns is not None
    assert book.decide(contract("video", supply("camera", "video", found.period_ns))) is None
    faster = found.period_ns - found.period_ns // 1_000
    assert book.decide(contract("video", supply("camera", "video", faster))) is not None


def test_where_nothing_helps_nothing_is_near(book: Book) -> None:
    grant(book, contract("alarm", supply("pump", "alarm")))
    tight = demand("alarm", book.bound("pump", "alarm").total_ns, "second reader")
    grant(book, Change(demands=(tight,)))
    assert book.nearest(contract("video", supply("camera", "video"))) == Nearest()


def test_nearest_prints_every_digit_of_a_latency_and_a_rate_that_an_offer_takes() -> None:
    assert str(Nearest(1_234_567)) == "a max_latency of 1.234567 ms"
    assert str(Nearest(None, 3, 10_000_000)) == "at most 300/s"
    assert str(Nearest(None, 250, 1_055_664_062)) == "at most 236/s"
    assert str(Nearest(None, 1, 70_000_000)) == "at most 857/min"
    assert str(Nearest(None, 1, 200_000_000)) == "at most 5/s"
    assert str(Nearest(None, 1, 86_400_000_000_000)) == "at most 1/86400000000000ns"
    assert str(Nearest(2_000_000, 5, 7_000, ("a", "b"))) == (
        "a max_latency of 2 ms, or at most 714285/s from 'a', 'b'"
    )


@given(st.integers(1, 10**9), st.integers(1, 10**15))
def test_the_rate_that_is_said_is_never_above_the_one_that_holds(count: int, period_ns: int) -> None:
    said = rate_terms(rate_text(count, period_ns))
    assert Fraction(*said) <= Fraction(count, period_ns)
    assert Fraction(*said) > Fraction(count, period_ns) * Fraction(98, 100)


def test_further_subscriptions_and_filters_of_the_same_clients_make_a_quantum_longer(book: Book) -> None:
    change = contract("alarm", supply("pump", "alarm"), fanout=2)
    grant(book, change)
    before, costs = book.records["alarm"].streams["pump"].serve_ns, book.setting.costs
    crowd = replace(change.topics[0], subscriptions=12, comparisons=100)
    grant(book, Change(topics=(crowd,)))
    after = book.records["alarm"].streams["pump"].serve_ns
    assert after - before == 10 * costs.deliver.ns(256) + 100 * costs.filter_ns
    objection = book.decide(Change(topics=(replace(crowd, comparisons=1_000),)))
    assert objection is not None
    assert objection.why == "latency"


def test_what_is_not_policed_is_covered_by_its_own_bound() -> None:
    # The policer forgives 10 ms, which is 100 messages: a publisher that was held up sends 101 at once.
    fast = supply("pump", "alarm", 100_000, jitter_ns=10 * MS)
    book = Book(setting(tolerance_ns=10 * MS))
    grant(book, contract("alarm", fast, max_latency_ns=100 * MS))
    stream = book.records["alarm"].streams["pump"]
    assert book.bound("pump", "alarm").total_ns > 101 * stream.serve_ns


def test_nothing_is_granted_that_would_police_who_keeps_the_offer() -> None:
    book = Book(setting(tolerance_ns=100_000))
    objection = book.decide(contract("alarm", supply("pump", "alarm")))
    assert objection is not None
    assert objection.why == "tolerance"
    assert "guarantee.tolerance" in objection.sentence
    grant(Book(setting(tolerance_ns=MS)), contract("alarm", supply("pump", "alarm")))


def test_messages_longer_than_a_portion_take_more_turns_to_read(book: Book) -> None:
    grant(book, contract("short", supply("pump", "short"), max_latency_ns=50 * MS))
    camera = supply("camera", "long", 100 * MS, size_bytes=105_000)
    grant(book, contract("long", camera, max_latency_ns=50 * MS))
    blocking = {
        topic: next(part.ns for part in book.bound(client, topic).parts if part.name == "blocking")
        for client, topic in (("pump", "short"), ("camera", "long"))
    }
    turn_ns = book.setting.turn_steps * book.records["long"].streams["camera"].serve_ns
    turn_ns += book.setting.costs.write.ns(NAMES_BYTES)
    assert blocking["long"] - blocking["short"] == 105_056 // 16_384 * turn_ns


def test_who_offers_more_than_is_read_of_it_in_a_turn_is_refused() -> None:
    book = Book(setting())
    flood = supply("camera", "video", MS, size_bytes=60_000)
    objection = book.decide(contract("video", flood, max_latency_ns=1_000 * MS))
    assert objection is not None
    assert (objection.why, objection.client, objection.own) == ("overload", "camera", True)
    # The same beside a promise to others is nobody's business but its own.
    grant(book, contract("alarm", supply("pump", "alarm"), max_latency_ns=20 * MS))
    grant(book, Change(supplies=(flood,)))


def test_a_connection_more_costs_its_own_part_and_no_turn_however_many_there_are() -> None:
    bounds = []
    for clients in (31, 32, 33):
        book = Book(setting())
        supplies = tuple(supply(f"client {i}", "alarm", 1_000 * MS) for i in range(clients))
        grant(book, contract("alarm", *supplies, max_latency_ns=50 * MS))
        bounds.append(book.bound("client 0", "alarm").total_ns)
    own_ns = book.records["alarm"].streams["client 0"].serve_ns
    assert abs(bounds[2] - 2 * bounds[1] + bounds[0]) < own_ns


def test_a_period_that_a_turn_overruns_is_served_all_the_same() -> None:
    change = contract("alarm", supply("pump", "alarm", 2 * MS), max_latency_ns=50 * MS)
    always, timed = Book(setting()), Book(setting(period_ns=MS, budget_ns=900_000))
    for book in (always, timed):
        grant(book, change)
    whole, cut = (book.bound("pump", "alarm").total_ns for book in (always, timed))
    # A turn does not fit into what the budget leaves of a period, and yet only one period is waited for.
    assert whole < cut < whole + 2 * MS
