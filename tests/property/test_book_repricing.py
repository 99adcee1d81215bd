"""A book under another setting: the same promises and flows, and no promise that does not hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from bounds_simulation import seeds
from test_book_changes import POLICIES, draw_change, settings

from giusto.errors import Overload
from giusto.guarantee.book import Book, WorstFlow
from giusto.guarantee.costs import Costs
from giusto.guarantee.repricing import Served, excess, raised, repriced


def filled(book: Book, changes: int, rng: object) -> Book:
    """With what was granted of so many changes."""
    for _ in range(changes):
        change = draw_change(rng, book)  # type: ignore[arg-type]
        if book.decide(change) is None:
            book.commit(change)
    return book


def worst(book: Book) -> dict[str, WorstFlow | None]:
    """The largest bound of each topic that has one."""
    found = {}
    for name in sorted(book.topics):
        try:
            found[name] = book.worst_on(name)
        except Overload:
            found[name] = None
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_under_the_same_setting_everything_is_as_before(policy: str) -> None:
    for label, rng in seeds(15):
        book = filled(Book(settings(policy, rng.choice(["load", "time"]))), 12, rng)
        again, objection = repriced(book, book.setting)
        assert objection is None, label
        assert worst(again) == worst(book), label
        assert (again.demands, again.supplies, again.topics) == (book.demands, book.supplies, book.topics), (
            label
        )
        assert (again.promises, again.rest) == (book.promises, book.rest), label
        assert (again.load.serving, again.load.reading) == (book.load.serving, book.load.reading), label


@pytest.mark.parametrize("policy", POLICIES)
def test_what_holds_under_higher_costs_is_promised_and_what_does_not_is_named(policy: str) -> None:
    refused = 0
    for label, rng in seeds(20):
        book = filled(Book(settings(policy, "load")), 12, rng)
        dear = replace(book.setting, costs=raised(book.setting.costs, Fraction(rng.randint(11, 90), 10)))
        other, objection = repriced(book, dear)
        if objection is not None:
            refused += 1
            assert objection.sentence, label
            continue
        for demand in other.demands:
            found = other.worst_on(demand.topic)
            assert found is None or found.total_ns <= demand.max_latency_ns, label
        # It decides as a book that was filled under these costs.
        change = draw_change(rng, other)
        fresh, _ = repriced(other, dear)
        assert (other.decide(change) is None) == (fresh.decide(change) is None), label
    assert refused


@pytest.mark.parametrize("costs", [Costs(), replace(Costs(), serve=None, serve_each=None)])
def test_raised_costs_cover_what_was_measured(costs: Costs) -> None:
    for label, rng in seeds(50):
        measured = [
            Served(rng.randint(0, 100_000), rng.randint(0, 20), rng.randint(1, 10_000_000)) for _ in range(5)
        ]
        factor = excess(costs, measured)
        dear = raised(costs, max(Fraction(1), factor))
        for one in measured:
            assert dear.serve_ns(one.size_bytes, one.fan_out) >= one.ns, label
