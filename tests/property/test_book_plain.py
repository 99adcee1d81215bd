"""What the book does in a few steps is what the plain definitions say, in every case."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, gcd

import pytest
from bounds_simulation import seeds
from test_book_changes import MODES, POLICIES, answers, draw_change, settings

from giusto.errors import Overload
from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Bound, Change, Demand, LinkTerms, Supply
from giusto.guarantee.shelf import Breach, Lane, Shelf
from giusto.guarantee.smooth import spread
from giusto.guarantee.stages import smooth as smooth_stage
from giusto.guarantee.stages.smooth import Places, Smooth
from giusto.guarantee.stages.twrr import Cells, Cycle
from giusto.protocol import ShareTerms

CASES = 1_000
SECOND_NS = 1_000_000_000


class PlainCycle:
    """(T2), (T3) and (T5) of `twrr` as they are written, in steps for every weight."""

    def __init__(self, weight: int, cells: Counter[int], empty_ns: int) -> None:
        divisor = gcd(*cells)
        self.own = weight // divisor
        self.others = [(other // divisor, ns) for other, ns in cells.items()]
        self.cycle_ns = sum(v * ns for v, ns in self.others)
        self.start_ns = empty_ns + sum((v - self.own) * ns for v, ns in self.others if v > self.own)

    def work_ns(self, n: int) -> int:
        turns, rest = divmod(n - 1, self.own)
        inner = sum(min(rest + 1, v) * ns for v, ns in self.others)
        return turns * self.cycle_ns + self.start_ns + inner

    @property
    def latency_ns(self) -> int:
        every = range(1, self.own + 1)
        return ceil(max(self.work_ns(n) - Fraction((n - 1) * self.cycle_ns, self.own) for n in every))


def test_twrr_by_sums_is_twrr_by_every_weight() -> None:
    for label, rng in seeds(CASES):
        most = rng.choice([3, 30, 300])
        weights = [rng.randint(1, most) * rng.choice([1, 1, 5]) for _ in range(rng.randint(1, 12))]
        cells = Counter({weight: rng.choice([0, 1, rng.randint(1, 10_000)]) for weight in weights})
        sums = Cells(gcd(*cells), cells, 17)
        for weight in cells:
            fast, plain = Cycle(weight, sums), PlainCycle(weight, cells, 17)
            assert (fast.own, fast.cycle_ns) == (plain.own, plain.cycle_ns), label
            assert fast.latency_ns == plain.latency_ns, label
            for n in {1, fast.own, fast.own + 1, rng.randint(1, 4 * fast.own)}:
                assert fast.work_ns(n) == plain.work_ns(n), label


def plain_latency_ns(before: Sequence[int], cycle_ns: int, empty_ns: int) -> int:
    """(T5) of a fixed table: every run of every number of cells."""
    own = len(before)
    starts = [*before, *(ns + cycle_ns for ns in before)]
    return ceil(
        max(
            empty_ns + starts[i + n] - starts[i] - Fraction((n - 1) * cycle_ns, own)
            for n in range(1, own + 1)
            for i in range(own)
        )
    )


def test_the_latency_of_a_table_by_drift_is_that_of_its_longest_runs() -> None:
    for label, rng in seeds(CASES):
        own, cycle_ns, empty_ns = rng.randint(1, 12), rng.randint(12, 5_000), rng.randint(0, 50)
        before = sorted(rng.sample(range(cycle_ns), own))
        found = Places(before, cycle_ns, empty_ns).latency_ns
        assert found == plain_latency_ns(before, cycle_ns, empty_ns), label


def plain_spread(share: Sequence[int]) -> list[int]:
    """Credit by credit: all grow by their shares, the first of the richest is served and pays for a cycle."""
    credit, order = [0] * len(share), []
    for _ in range(sum(share)):
        credit = [have + v for have, v in zip(credit, share, strict=True)]
        served = credit.index(max(credit))
        credit[served] -= sum(share)
        order.append(served)
    return order


def test_a_table_by_groups_is_the_table_by_topics() -> None:
    for label, rng in seeds(CASES):
        most = rng.choice([2, 5, 30])
        share = [rng.randint(1, most) for _ in range(rng.randint(1, 14))]
        assert list(spread(tuple(share))) == plain_spread(share), label


def draw_lane(rng: random.Random, number: int) -> Lane:
    period_ns, burst_ns = rng.randint(5, 60), rng.randint(0, 200)
    first = max(1, burst_ns // period_ns)

    def arrival_ns(n: int) -> int:
        return max(0, n * period_ns - burst_ns)

    last = first + rng.randint(0, 5)
    rate, promise_ns = rng.randint(1, 100), rng.randint(0, 900)
    return Lane(f"client {number}", "topic", first, last, rng.random() < 0.5, rate, promise_ns, arrival_ns)


def plainly_late(lanes: Sequence[Lane], done: list[int], line: list[int]) -> set[Breach]:
    """Lane by lane and message by message."""
    found = {
        lane.owner
        for lane in lanes
        for n in range(lane.first, lane.last + 1)
        if done[n] > lane.promise_ns + lane.arrival_ns(n)
    }
    beyond = [(lane, lane.last + 1) for lane in lanes if lane.has_tail]
    return found | {lane.owner for lane, n in beyond if line[n] > lane.promise_ns + lane.arrival_ns(n)}


def plain_excess_ns(lanes: Sequence[Lane], done: list[int], line: list[int]) -> int:
    return max(lane.worst(done.__getitem__, line.__getitem__)[0] - lane.promise_ns for lane in lanes)


def test_a_shelf_finds_a_late_lane_if_there_is_one_whatever_came_and_went() -> None:
    late = 0
    for label, rng in seeds(CASES):
        shelf, lanes = Shelf(), []
        for number in range(rng.randint(1, 25)):
            lane = draw_lane(rng, number)
            lanes.append(lane)
            shelf.add(lane)
            if rng.random() < 0.4:
                shelf.remove(lanes.pop(rng.randrange(len(lanes))))
            if not lanes:
                assert not shelf, label
                continue
            done = sorted(rng.choices(range(rng.choice([300, 900, 2_000])), k=100))
            line = sorted(rng.choices(range(rng.choice([300, 900, 2_000])), k=100))
            expected = plainly_late(lanes, done, line)
            found = shelf.late(done.__getitem__, line.__getitem__)
            assert found in expected if expected else found is None, label
            excess_ns, _ = shelf.excess(done.__getitem__, line.__getitem__)
            assert excess_ns == plain_excess_ns(lanes, done, line), label
            fastest = max(lane.rate for lane in lanes)
            assert shelf.faster(fastest, 1) is None, label
            assert shelf.faster(fastest - 1, 1) in {one.owner for one in lanes if one.rate == fastest}, label
            late += bool(expected)
    assert late


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_worst_of_some_topics_is_the_largest_bound_of_all_their_flows(policy: str, mode: str) -> None:
    compared = 0
    for label, rng in seeds(20):
        book = Book(settings(policy, mode))
        for _ in range(15):
            change = draw_change(rng, book)
            if book.decide(change) is None:
                book.commit(change)
            topics = [topic for topic, share in book.topics.items() if rng.random() < 0.7 and share]
            bounds = [bound for flow, bound in answers(book).items() if flow[1] in topics]
            found = [bound.total_ns if isinstance(bound, Bound) else None for bound in bounds]
            if None in found:
                with pytest.raises(Overload):
                    book.worst(topics)
            else:
                worst = book.worst(topics)
                assert (worst.total_ns if worst else None) == max(found, default=None), label
                compared += len(found) > 1
    assert compared


def draw_many(rng: random.Random, mode: str) -> Book:
    """A bus on which many promises are a little, or much, above their bounds."""
    book = Book(replace(settings("smooth", mode), link_in=LinkTerms(), link_out=LinkTerms()))
    names = [f"topic {number}" for number in range(12)]
    shares = [ShareTerms(weight=rng.choice([1, 1, 2, 3, 5, 40])) for _ in names]
    allotted = tuple(Allotted(topic=name, share=share) for name, share in zip(names, shares, strict=True))
    supplies = [
        Supply(
            client=f"of {name}",
            topic=name,
            count=1,
            period_ns=rng.randint(2, 9) * SECOND_NS,
            burst=rng.randint(1, 4),
            size_bytes=rng.choice([10, 1_000, 90_000]),
        )
        for name in names
    ]
    book.commit(Change(topics=allotted, supplies=tuple(supplies)))
    for name in names:
        worst = book.worst([name])
        asked_ns = int(worst.total_ns * rng.choice([1.0, 1.001, 1.02, 1.5])) if worst else SECOND_NS
        book.commit(Change(demands=(Demand(key="k", client="reader", topic=name, max_latency_ns=asked_ns),)))
    return book


@pytest.mark.parametrize("mode", MODES)
def test_what_holds_under_a_ceiling_holds_below_it(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A book that looks at few promises answers like one that looks at all of them, change after change."""
    refused = granted = skipped = 0
    for label, rng in seeds(40):
        book = draw_many(rng, mode)
        for number in range(12):
            topic = rng.choice(list(book.topics.values()))
            more = replace(topic, fanout=max(0, topic.fanout + rng.choice([0, 0, 1, -1])))
            size_bytes, period_ns = rng.choice([0, 50, 5_000]), rng.choice([1, 30]) * SECOND_NS
            supply = Supply(
                client=f"new {number}", topic=topic.topic, count=1, period_ns=period_ns, size_bytes=size_bytes
            )
            promise_ns = book.records[topic.topic].promise_ns or SECOND_NS
            asked_ns = int(promise_ns * rng.choice([0.5, 0.98, 1.0]))
            asked = Demand(key=str(number), client="other", topic=topic.topic, max_latency_ns=asked_ns)
            change = Change(
                topics=(more,),
                supplies=(supply,) if rng.random() < 0.7 else (),
                demands=(asked,) if rng.random() < 0.4 else (),
            )
            monkeypatch.setattr(smooth_stage, "FEW", 1_000)
            plain = book.decide(change)
            monkeypatch.setattr(smooth_stage, "FEW", 0)
            found = book.decide(change)
            assert (found is None) == (plain is None), label
            stage = book.stage
            assert isinstance(stage, Smooth)
            skipped += sum(len(ceiling.sure) for ceiling in stage.ceilings)
            refused, granted = refused + (found is not None), granted + (found is None)
            if found is None or rng.random() < 0.3:
                book.commit(change)
    assert refused
    assert granted
    assert skipped


def test_a_promise_that_was_tried_and_taken_back_is_as_sure_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(smooth_stage, "FEW", 0)
    book = draw_many(random.Random(1), "load")
    stage, delay = book.stage, book.load.delay(book.rest)
    assert isinstance(stage, Smooth)
    assert delay is not None
    before = {place for place, _ in stage.unsure(delay)}
    assert len(before) < len(stage.shelves)
    for topic in book.topics:
        book.decide(Change(demands=(Demand(key="x", client="other", topic=topic, max_latency_ns=1),)))
    assert {place for place, _ in stage.unsure(delay)} == before


def test_a_shelf_keeps_no_more_than_a_few_times_what_is_on_it() -> None:
    shelf, lane = Shelf(), draw_lane(random.Random(1), 1)
    shelf.add(draw_lane(random.Random(2), 2))
    for _ in range(1_000):
        shelf.add(lane)
        shelf.remove(lane)
    assert max(len(pile.heap) for pile in (shelf.rates, *shelf.dues.values())) < 30
