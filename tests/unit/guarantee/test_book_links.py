"""Links with a bandwidth: all that a client sends or receives is on one of them, and its bounds know it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from books import MS, contract, demand, grant, setting, supply

from giusto.guarantee.book import Book
from giusto.guarantee.fixed import ONE
from giusto.guarantee.links import CREDITS_WAITING, ROOM_BYTES, SOCKET_BYTES, wire_bytes
from giusto.guarantee.model import Change, LinkTerms

MBIT = 1_000_000
SECOND = 1_000 * MS


def part_ns(book: Book, client: str, topic: str, name: str) -> int:
    return next(part.ns for part in book.bound(client, topic).parts if part.name == name)


def wire_ns(size_bytes: int, bits_per_second: int) -> int:
    return size_bytes * 8 * 1_000_000_000 // bits_per_second


def test_a_frame_has_headers_of_its_own_and_of_each_segment() -> None:
    assert wire_bytes(64) == 64 + 110
    assert wire_bytes(1_428) == 1_428 + 110
    assert wire_bytes(1_429) == 1_429 + 2 * 110


def test_a_burst_waits_for_itself_on_the_way_in() -> None:
    book = Book(setting(link_in=LinkTerms(bits_per_second=MBIT)))
    burst = supply("pump", "alarm", SECOND, burst=100, size_bytes=1_000)
    grant(book, contract("alarm", burst, max_latency_ns=5 * SECOND))
    found = part_ns(book, "pump", "alarm", "link from the publisher")
    assert found > wire_ns(100 * wire_bytes(1_056), MBIT)
    assert found < wire_ns(100 * wire_bytes(1_056), MBIT) * 5 // 4


def test_all_flows_of_a_client_share_its_way_in_and_others_have_their_own() -> None:
    book = Book(setting(link_in=LinkTerms(bits_per_second=10 * MBIT)))
    grant(book, contract("alarm", supply("pump", "alarm"), max_latency_ns=SECOND))
    grant(book, contract("other", supply("valve", "other"), max_latency_ns=SECOND))
    alone = part_ns(book, "pump", "alarm", "link from the publisher")
    curve = supply("pump", "curve", burst=50, size_bytes=1_000)
    grant(book, contract("curve", curve, max_latency_ns=SECOND))
    together = part_ns(book, "pump", "alarm", "link from the publisher")
    assert together - alone > wire_ns(50 * wire_bytes(1_056), 10 * MBIT)
    assert part_ns(book, "valve", "other", "link from the publisher") == alone
    book.commit(Change(supplies_gone=(curve,)))
    assert part_ns(book, "pump", "alarm", "link from the publisher") == alone


def test_all_topics_of_a_subscriber_share_its_way_out_behind_what_its_socket_holds() -> None:
    rate = 100 * MBIT
    book = Book(setting(link_out=LinkTerms(bits_per_second=rate)))
    for number in range(50):
        flow = supply(f"p{number}", f"t{number}", SECOND, size_bytes=1_000)
        grant(book, contract(f"t{number}", flow, max_latency_ns=100 * MS))
    found = part_ns(book, "p0", "t0", "link to the subscriber")
    assert found > wire_ns(wire_bytes(SOCKET_BYTES) + 50 * wire_bytes(1_056), rate)
    other = demand("t0", 100 * MS, client="second reader")
    grant(book, Change(demands=(other,)))
    assert part_ns(book, "p0", "t0", "link to the subscriber") >= found
    alone = Book(setting(link_out=LinkTerms(bits_per_second=rate)))
    grant(alone, contract("t0", supply("p0", "t0", SECOND, size_bytes=1_000), max_latency_ns=100 * MS))
    assert part_ns(alone, "p0", "t0", "link to the subscriber") < found


def test_topics_that_a_subscriber_receives_without_a_need_are_on_its_way_out_too() -> None:
    book = Book(setting(link_out=LinkTerms(bits_per_second=100 * MBIT)))
    grant(book, contract("alarm", supply("pump", "alarm", SECOND), max_latency_ns=100 * MS))
    before = part_ns(book, "pump", "alarm", "link to the subscriber")
    change = contract("curve", supply("valve", "curve", SECOND, size_bytes=9_000), max_latency_ns=100 * MS)
    others = replace(demand("curve", 100 * MS), client="somebody else")
    seen = replace(change.topics[0], receivers=frozenset({"reader"}))
    grant(book, replace(change, demands=(others,), topics=(seen,)))
    assert part_ns(book, "pump", "alarm", "link to the subscriber") > before


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"link_in": LinkTerms(bits_per_second=MBIT)}, "pump offers more than guarantee.link_bandwidth_in"),
        ({"link_out": LinkTerms(bits_per_second=MBIT)}, "reader is to receive more than"),
    ],
)
def test_more_than_a_link_carries_is_an_overload(fields: dict[str, LinkTerms], word: str) -> None:
    book = Book(setting(**fields))
    objection = book.decide(
        contract("alarm", supply("pump", "alarm", 5 * MS, size_bytes=1_000), max_latency_ns=SECOND)
    )
    assert objection is not None
    assert objection.why == "overload"
    assert word in objection.sentence


def test_more_at_once_than_a_socket_is_sure_to_hold_is_an_overload() -> None:
    book = Book(setting(link_out=LinkTerms(bits_per_second=10_000 * MBIT)))
    messages = ROOM_BYTES // 1_000
    flow = supply("pump", "alarm", SECOND, burst=messages, size_bytes=1_000)
    objection = book.decide(contract("alarm", flow, max_latency_ns=SECOND))
    assert objection is not None
    assert "socket" in objection.sentence


def test_a_message_that_may_be_late_on_its_link_needs_a_tolerance_for_it() -> None:
    fields = {"link_in": LinkTerms(bits_per_second=MBIT), "tolerance_ns": 20 * MS}
    flow = supply("pump", "alarm", SECOND, burst=10, size_bytes=1_000, jitter_ns=20 * MS)
    objection = Book(setting(**fields)).decide(contract("alarm", flow, max_latency_ns=SECOND))
    assert objection is not None
    assert objection.why == "tolerance"


@pytest.mark.parametrize("policy", ["twrr", "smooth", "fair", "edf"])
def test_a_promise_that_ends_is_kept_to_until_its_topic_is_released(policy: str) -> None:
    book = Book(setting(input=policy, link_out=LinkTerms(bits_per_second=100 * MBIT)))
    grant(book, contract("kept", supply("pump", "kept"), max_latency_ns=100 * MS))
    asked = contract("ended", supply("valve", "ended"), max_latency_ns=50 * MS)
    loose = demand("ended", 5 * SECOND, client="other")
    grant(book, replace(asked, demands=(*asked.demands, loose)))
    before = book.bound("pump", "kept").total_ns
    for gone in (asked.demands[0], loose):
        book.commit(Change(demands_gone=(gone,)))
        assert book.bound("pump", "kept").total_ns <= before
        assert book.decide(Change()) is None
    grant(book, Change(released=("ended",)))
    grant(book, replace(asked, supplies=(), demands=(replace(loose, max_latency_ns=200 * MS),)))
    assert book.records["ended"].promise_ns == 200 * MS


def test_few_credits_wait_however_long_messages_of_the_rest_do() -> None:
    rate = 100 * MBIT
    book = Book(setting(link_out=LinkTerms(bits_per_second=rate)))
    change = contract("alarm", supply("pump", "alarm", SECOND), max_latency_ns=100 * MS)
    own = replace(demand("alarm", 100 * MS), client="pump")
    grant(book, replace(change, demands=(own,)))
    before = book.links.out["pump"].burst
    grant(book, Change(supplies=(supply("pump", "beside", MS),)))
    after = book.links.out["pump"].burst
    credit_bytes = 110 + wire_bytes(64)
    assert 0 <= after - before - (CREDITS_WAITING + 1) * credit_bytes * ONE <= 1


@pytest.mark.parametrize("policy", ["twrr", "smooth", "fair", "edf"])
def test_a_promise_that_holds_without_the_link_may_not_hold_with_it(policy: str) -> None:
    flow = supply("pump", "alarm", SECOND, burst=20, size_bytes=1_000)
    asked = contract("alarm", flow, max_latency_ns=10 * MS)
    assert Book(setting(input=policy)).decide(asked) is None
    slow = Book(setting(input=policy, link_in=LinkTerms(bits_per_second=10 * MBIT)))
    objection = slow.decide(asked)
    assert objection is not None
    assert objection.why == "latency"
    nearest = slow.nearest(asked).max_latency_ns
    assert nearest is not None
    assert slow.decide(contract("alarm", flow, max_latency_ns=nearest)) is None


@pytest.mark.parametrize("policy", ["twrr", "smooth", "fair", "edf"])
@pytest.mark.parametrize("bandwidth", [50 * MBIT, 1_000 * MBIT])
def test_there_is_a_nearest_latency_though_a_very_long_one_is_too_much_for_the_socket(
    policy: str, bandwidth: int
) -> None:
    link = LinkTerms(bits_per_second=bandwidth)
    book = Book(setting(input=policy, link_in=link, link_out=link))
    for number in range(5):
        flow = supply(f"p{number}", f"t{number}", 20 * MS, size_bytes=1_000)
        grant(book, contract(f"t{number}", flow, max_latency_ns=300 * MS))
    flow = supply("pump", "alarm", 20 * MS, size_bytes=1_000)
    crowded = book.decide(contract("alarm", flow, max_latency_ns=60 * SECOND))
    assert crowded is not None
    assert "socket" in crowded.sentence
    nearest = book.nearest(contract("alarm", flow, max_latency_ns=1)).max_latency_ns
    assert nearest is not None
    assert book.decide(contract("alarm", flow, max_latency_ns=nearest)) is None
    less_ns = nearest - nearest // 500
    assert book.decide(contract("alarm", flow, max_latency_ns=less_ns)) is not None


@pytest.mark.parametrize("policy", ["twrr", "smooth", "fair", "edf"])
def test_a_promise_that_has_ended_and_still_counts_is_named_as_such(policy: str) -> None:
    link = LinkTerms(bits_per_second=1_000 * MBIT)
    book = Book(setting(input=policy, link_in=link, link_out=link))
    grant(book, contract("other", supply("valve", "other", SECOND), max_latency_ns=200 * MS))
    ended = contract("alarm", supply("pump", "alarm", SECOND), max_latency_ns=20 * MS)
    grant(book, ended)
    book.commit(Change(demands_gone=ended.demands))
    objection = book.decide(Change(supplies=(supply("late", "alarm", SECOND, burst=400),)))
    assert objection is not None
    assert objection.why == "latency"
    assert "20 ms was promised, and is kept to" in objection.sentence
