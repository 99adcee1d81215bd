"""How long it takes to decide on one more contract and to enter it, and how that grows with the bus.

Every offer is different, weights and rates are 1 to 10, and the promises are between 1.05 and 3 times the
bound, so that a decision cannot be made by looking at sums alone.
"""

from __future__ import annotations

import json
import random
import statistics
import time

from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs, Line
from giusto.guarantee.model import Allotted, Change, Demand, Setting, Supply
from giusto.protocol import ShareTerms

POLICIES = ("twrr", "smooth", "fair", "edf")
# Topics, publishers, contracts.
SIZES = ((10, 100, 100), (100, 1_000, 1_000), (1_000, 1_000, 10_000), (1_000, 10_000, 10_000))
ROUNDS = 31
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
    topic = rng.choice(list(book.topics.values()))
    more = Allotted(topic=topic.topic, share=topic.share, fanout=topic.fanout + 1)
    latency_ns = rng.randint(50, 100) * SECOND_NS
    change = Change(
        topics=(more,),
        supplies=(supply(rng, f"new client {number}", topic.topic),),
        demands=(demand(-1 - number, topic.topic, latency_ns),),
    )
    start = time.perf_counter()
    if book.decide(change) is None:
        book.commit(change)
    return (time.perf_counter() - start) * 1e3


def report(case: str, value: float) -> None:
    """One figure as a line of JSON."""
    figure = {"bench": "admission", "case": case, "value": round(value, 3), "unit": "ms"}
    print(json.dumps(figure), flush=True)


def main() -> None:
    """Every policy and size."""
    for topics, publishers, contracts in SIZES:
        case = f"{contracts:,} contracts, {topics:,} topics, {publishers:,} publishers"
        for policy in POLICIES:
            book = filled(policy, topics, publishers, contracts)
            rng = random.Random(1)
            value = statistics.median(admission_ms(book, rng, number) for number in range(ROUNDS))
            report(f"{case} | {policy}", value)


if __name__ == "__main__":
    main()
