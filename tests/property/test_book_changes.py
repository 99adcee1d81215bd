"""A book answers by what it contains: not by how that came in, and never against what it has promised."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from bounds_simulation import seeds

from giusto.errors import Overload
from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Bound, Change, Demand, LinkTerms, Rest, Setting, Supply
from giusto.protocol import ShareTerms

POLICIES = ["twrr", "smooth", "fair", "edf"]
MODES = {"load": {}, "time": {"period_ns": 5_000_000, "budget_ns": 3_000_000}}
US = 1_000
TICKS = 232_792_560_000_000


HOP = LinkTerms(delay_ns=20 * US)
"""A link without a bandwidth, which does not get longer by what is asked for."""


def settings(policy: str, mode: str) -> Setting:
    link = LinkTerms(delay_ns=20 * US, bits_per_second=1_000_000_000)
    return Setting(input=policy, link_in=link, link_out=link, **MODES[mode])


def draw_supply(rng: random.Random, client: str, topic: str) -> Supply:
    return Supply(
        client=client,
        topic=topic,
        count=rng.randint(1, 3),
        period_ns=rng.randint(2_000 * US, 500_000 * US),
        burst=rng.choice([1, 1, 2, 5]),
        jitter_ns=rng.choice([0, 1_000 * US, 3_000 * US]),
        size_bytes=rng.choice([0, 100, 1_000, 20_000, 100_000]),
    )


def draw_allotted(rng: random.Random, topic: str) -> Allotted:
    rate = rng.randint(1, 9)
    share = ShareTerms(
        weight=rng.choice([None, 1, 2, 4, 40]),
        rate=rate,
        virtual_deadline=rng.choice([None, TICKS // rate // 3]),
    )
    return Allotted(topic=topic, share=share, fanout=rng.randint(0, 4))


def draw_change(rng: random.Random, book: Book) -> Change:
    """Something that makes sense in this book."""
    topic, client = f"topic {rng.randint(0, 4)}", f"client {rng.randint(0, 3)}"
    kind = rng.randint(0, 6)
    if kind == 0 and book.supplies:
        return Change(supplies_gone=(rng.choice(book.supplies),))
    if kind == 1 and book.demands:
        return Change(demands_gone=(rng.choice(book.demands),))
    if kind == 2:
        return Change(rest=Rest(fanout=rng.randint(0, 64), size_bytes=rng.randint(0, 4_000)))
    if kind == 3 and topic in book.topics:
        ended = tuple(demand for demand in book.demands if demand.topic == topic)
        return Change(demands_gone=ended, released=(topic,))
    record = book.records.get(topic)
    is_new = record is None or client not in record.streams
    supplies = (draw_supply(rng, client, topic),) if is_new and rng.random() < 0.8 else ()
    demand = Demand(key=str(rng.random()), client="reader", topic=topic, max_latency_ns=draw_latency(rng))
    asks = rng.random() < 0.7
    return Change(
        supplies=supplies,
        topics=(draw_allotted(rng, topic),) if asks and topic not in book.topics else (),
        demands=(demand,) if asks else (),
    )


def draw_latency(rng: random.Random) -> int:
    return rng.choice([800, 1_500, 3_000, 10_000, 40_000, 200_000]) * US


def whole(book: Book) -> Change:
    """All of a book as one change."""
    return Change(
        topics=tuple(book.topics.values()), supplies=book.supplies, demands=book.demands, rest=book.rest
    )


def fresh(book: Book) -> Book:
    """With promises that have ended where they are still kept to."""
    ended = tuple(
        Demand(key="ended", client="reader", topic=record.name, max_latency_ns=record.promise_ns)
        for record in book.records.values()
        if record.promise_ns is not None
    )
    made = Book(book.setting)
    change = whole(book)
    made.commit(replace(change, demands=change.demands + ended))
    made.commit(Change(demands_gone=ended))
    return made


def answers(book: Book) -> dict[tuple[str, str], Bound | None]:
    """Every bound, and where there is none."""
    found: dict[tuple[str, str], Bound | None] = {}
    for supply in book.supplies:
        if supply.topic in book.topics:
            try:
                found[supply.client, supply.topic] = book.bound(supply.client, supply.topic)
            except Overload:
                found[supply.client, supply.topic] = None
    return found


def same_verdict(one: object, other: object) -> bool:
    return (one is None) == (other is None)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_book_that_grew_by_changes_answers_like_one_made_at_once(policy: str, mode: str) -> None:
    granted = 0
    for label, rng in seeds(12):
        book = Book(settings(policy, mode))
        for _ in range(12):
            change = draw_change(rng, book)
            before, utilisation = answers(book), book.utilisation
            objection = book.decide(change)
            assert (answers(book), book.utilisation) == (before, utilisation), label
            assert same_verdict(fresh(book).decide(change), objection), label
            if objection is None:
                book.commit(change)
                granted += 1
            made = fresh(book)
            assert answers(made) == answers(book), label
            assert made.utilisation == book.utilisation, label
            assert same_verdict(made.decide(Change()), None), label
    assert granted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_granted_is_never_broken_by_what_comes_later(policy: str, mode: str) -> None:
    for label, rng in seeds(12):
        book = Book(settings(policy, mode))
        for _ in range(20):
            change = draw_change(rng, book)
            if book.decide(change) is None:
                book.commit(change)
            for demand in book.demands:
                worst = book.worst([demand.topic])
                assert worst is None or worst.total_ns <= demand.max_latency_ns, label
                assert worst is None or worst.total_ns == sum(part.ns for part in worst.parts), label
                assert worst is None or all(part.ns > 0 for part in worst.parts), label


@pytest.mark.parametrize("policy", POLICIES)
def test_an_objection_for_latency_names_a_promise_below_its_bound(policy: str) -> None:
    seen = 0
    for label, rng in seeds(15):
        book = Book(settings(policy, "load"))
        for _ in range(15):
            change = draw_change(rng, book)
            objection = book.decide(change)
            if objection is None:
                book.commit(change)
            elif objection.why == "latency":
                seen += 1
                assert objection.bound_ns is not None, label
                assert objection.asked_ns is not None, label
                assert objection.bound_ns > objection.asked_ns, label
    assert seen


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_nobodys_bound_grows_because_a_promise_ends_that_shared_its_link(policy: str, mode: str) -> None:
    seen = 0
    for label, rng in seeds(12):
        book = Book(settings(policy, mode))
        for _ in range(12):
            change = draw_change(rng, book)
            if book.decide(change) is None:
                book.commit(change)
        ended = list(book.demands)
        rng.shuffle(ended)
        for demand in ended:
            before = {where: bound for where, bound in answers(book).items() if bound is not None}
            book.commit(Change(demands_gone=(demand,)))
            after = answers(book)
            assert book.decide(Change()) is None, label
            for where, bound in before.items():
                found = after[where]
                assert found is not None, label
                assert found.total_ns <= bound.total_ns, label
                seen += 1
    assert seen


@pytest.mark.parametrize("policy", POLICIES)
def test_removing_and_adding_again_changes_nothing(policy: str) -> None:
    for label, rng in seeds(10):
        book = Book(settings(policy, "load"))
        for _ in range(12):
            change = draw_change(rng, book)
            if book.decide(change) is None:
                book.commit(change)
        before = answers(book)
        for supply in book.supplies:
            book.commit(Change(supplies_gone=(supply,)))
            book.commit(Change(supplies=(supply,)))
        for demand in book.demands:
            book.commit(Change(demands_gone=(demand,)))
            book.commit(Change(demands=(demand,)))
        assert answers(book) == before, label


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_nearest_is_granted_and_a_part_in_a_thousand_beyond_it_is_not(policy: str, mode: str) -> None:
    found = 0
    for label, rng in seeds(12):
        book = Book(replace(settings(policy, mode), link_in=HOP, link_out=HOP))
        for _ in range(10):
            change = draw_change(rng, book)
            if book.decide(change) is None:
                book.commit(change)
                continue
            nearest = book.nearest(change)
            if nearest.max_latency_ns is not None:
                found += 1
                assert book.decide(asking(change, nearest.max_latency_ns)) is None, label
                if nearest.max_latency_ns > 1:
                    less_ns = nearest.max_latency_ns - max(1, nearest.max_latency_ns // 1_000)
                    if policy != "edf":
                        less_ns = nearest.max_latency_ns - 1
                    assert book.decide(asking(change, less_ns)) is not None, label
            if nearest.period_ns is not None and nearest.count is not None and len(change.supplies) == 1:
                assert book.decide(offering(change, nearest.count, nearest.period_ns)) is None, label
                faster = nearest.period_ns - max(1, nearest.period_ns // 1_000)
                assert book.decide(offering(change, nearest.count, faster)) is not None, label
    assert found


def asking(change: Change, max_latency_ns: int) -> Change:
    demands = tuple(replace(demand, max_latency_ns=max_latency_ns) for demand in change.demands)
    return replace(change, demands=demands)


def offering(change: Change, count: int, period_ns: int) -> Change:
    supplies = tuple(replace(supply, count=count, period_ns=period_ns) for supply in change.supplies)
    return replace(change, supplies=supplies)
