"""How long it takes to decide on one more contract and to enter it, and how that grows with the bus.

Every offer is different, weights and rates are 1 to 10, and the promises are between 1.05 and 3 times the
bound, so that a decision cannot be made by looking at sums alone. Times are those of the processor.
"""

from __future__ import annotations

import itertools
import json
import random
import statistics
import time
from dataclasses import replace

from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs, Line
from giusto.guarantee.model import Allotted, Change, Demand, Rest, Setting, Supply
from giusto.protocol import ShareTerms

POLICIES = ("twrr", "smooth", "fair", "edf")
# Topics, publishers, contracts.
SIZES = (
    (10, 100, 100),
    (100, 1_000, 1_000),
    (300, 3_000, 3_000),
    (1_000, 1_000, 10_000),
    (1_000, 10_000, 10_000),
)
ROUNDS = 31
FEW_ROUNDS = 5
SECOND_NS = 1_000_000_000
COSTS = Costs(
    take=Line(1_000, 200),
    step=Line(200),
    deliver=Line(60),
    write=Line(1_500, 200),
    frame_ns=60,
    turn_ns=800,
    call_ns=50_000,
    serve=None,
    serve_each=None,
)


def supply(rng: random.Random, client: str, topic: str) -> Supply:
    """An offer unlike all others."""
    return Supply(
        client=client,
        topic=topic,
        count=1,
        period_ns=rng.randint(20 * SECOND_NS, 60 * SECOND_NS),
        burst=rng.randint(1, 3),
        jitter_ns=1_000_000,
        size_bytes=rng.randint(1, 1_000),
    )


def allotted(rng: random.Random, topic: str, fanout: int) -> Allotted:
    """A topic with some share."""
    share = ShareTerms(weight=rng.randint(1, 10), rate=rng.randint(1, 10))
    return Allotted(topic=topic, share=share, fanout=fanout)


def filled(policy: str, topics: int, publishers: int, contracts: int) -> Book:
    """A bus on which so much was promised."""
    rng = random.Random(f"{policy} {topics} {publishers} {contracts}")
    names = [f"topic {number}" for number in range(topics)]
    book = Book(Setting(input=policy, costs=COSTS))
    book.commit(
        Change(
            topics=tuple(allotted(rng, name, contracts // topics) for name in names),
            supplies=tuple(supply(rng, f"client {i}", names[i % topics]) for i in range(publishers)),
            demands=tuple(demand(i, name, 100 * SECOND_NS) for i, name in enumerate(names)),
        )
    )
    bounds = {name: bound.total_ns for name in names if (bound := book.worst([name]))}
    asked = tuple(
        demand(topics + i, names[i % topics], int(bounds[names[i % topics]] * rng.uniform(1.05, 3)))
        for i in range(contracts - topics)
    )
    book.commit(Change(demands=asked))
    return book


def demand(number: int, topic: str, max_latency_ns: int) -> Demand:
    """A contract."""
    return Demand(
        key=str(number), client=f"reader {number}", topic=topic, max_latency_ns=max(1, max_latency_ns)
    )


def admission_ms(book: Book, rng: random.Random, number: int) -> float:
    """One more publisher and one more subscriber of a topic, decided on and entered."""
    change = asked(book, rng, number, rng.randint(50, 100) * SECOND_NS)
    start = time.thread_time()
    if book.decide(change) is None:
        book.commit(change)
    return (time.thread_time() - start) * 1e3


def refusal_ms(book: Book, rng: random.Random, number: int) -> float:
    """The same for a latency that nobody can have: refused, with the nearest that could be granted."""
    change = asked(book, rng, number, 1)
    start = time.thread_time()
    assert book.decide(change) is not None
    book.nearest(change)
    return (time.thread_time() - start) * 1e3


def asked(book: Book, rng: random.Random, number: int, max_latency_ns: int) -> Change:
    """One more publisher and one more subscriber of a topic."""
    topic = rng.choice(list(book.topics.values()))
    return Change(
        topics=(replace(topic, fanout=topic.fanout + 1),),
        supplies=(supply(rng, f"new client {number}", topic.topic),),
        demands=(demand(-1 - number, topic.topic, max_latency_ns),),
    )


def new_topic_ms(book: Book, rng: random.Random, number: int) -> float:
    """One more contract on a topic that was not there, decided on and entered."""
    name = f"new topic {number}"
    change = Change(
        topics=(allotted(rng, name, 1),),
        supplies=(supply(rng, f"new client {number}", name),),
        demands=(demand(-1 - number, name, 100 * SECOND_NS),),
    )
    start = time.thread_time()
    if book.decide(change) is None:
        book.commit(change)
    return (time.thread_time() - start) * 1e3


def wide_ms(book: Book, rng: random.Random, number: int) -> float:
    """A contract of one more client on every topic, decided on."""
    topics = tuple(replace(topic, fanout=topic.fanout + 1) for topic in book.topics.values())
    demands = tuple(demand(-1 - number, topic.topic, 100 * SECOND_NS) for topic in topics)
    start = time.thread_time()
    book.decide(Change(topics=topics, demands=demands))
    return (time.thread_time() - start) * 1e3


def told_ms(book: Book, rng: random.Random, number: int) -> float:
    """The largest of all bounds after a change, as the verdict of a contract on every topic has it."""
    book.commit(Change(rest=Rest(fanout=number)))
    start = time.thread_time()
    book.worst(book.topics)
    return (time.thread_time() - start) * 1e3


CASES = (
    ("admission", admission_ms, ROUNDS),
    ("admission on a new topic", new_topic_ms, FEW_ROUNDS),
    ("refusal with the nearest", refusal_ms, FEW_ROUNDS),
    ("admission on all topics", wide_ms, FEW_ROUNDS),
    ("all bounds after a change", told_ms, FEW_ROUNDS),
)


def report(bench: str, case: str, value: float) -> None:
    """One figure as a line of JSON."""
    print(json.dumps({"bench": bench, "case": case, "value": round(value, 3), "unit": "ms"}), flush=True)


def main() -> None:
    """Every policy and size."""
    for topics, publishers, contracts in SIZES:
        size = f"{contracts:,} contracts, {topics:,} topics, {publishers:,} publishers"
        for policy in POLICIES:
            book = filled(policy, topics, publishers, contracts)
            rng, numbers = random.Random(1), itertools.count()
            for bench, measured, rounds in CASES:
                value = statistics.median(measured(book, rng, next(numbers)) for _ in range(rounds))
                report(bench, f"{size} | {policy}", value)


if __name__ == "__main__":
    main()
