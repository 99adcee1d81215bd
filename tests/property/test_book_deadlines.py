"""The deadlines that a book finds are kept if and only if (E1), looked at instant by instant, says so."""

from __future__ import annotations

import random

from bounds_simulation import seeds

from giusto.guarantee.blocking import Delay
from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs, Line
from giusto.guarantee.model import Allotted, Change, Demand, Setting, Supply
from giusto.guarantee.stages.edf import Edf, common_ns

FREE = Line(0)
COSTS = Costs(
    take=FREE,
    step=FREE,
    deliver=FREE,
    write=Line(1),
    frame_ns=0,
    turn_ns=0,
    call_ns=0,
    serve=None,
    serve_each=None,
)


def drawn(rng: random.Random) -> Book:
    """A few topics with small numbers, so that every instant can be looked at."""
    setting = Setting(input="edf", costs=COSTS, turn_steps=1, slice_ns=0)
    if rng.random() < 0.3:
        setting = Setting(
            input="edf", costs=COSTS, turn_steps=1, slice_ns=0, period_ns=60, budget_ns=rng.randint(20, 50)
        )
    book = Book(setting)
    for i in range(rng.randint(1, 4)):
        topic = f"topic {i}"
        clients = [f"client {i} {j}" for j in range(rng.randint(1, 2))]
        book.commit(
            Change(
                topics=(Allotted(topic=topic, fanout=rng.randint(0, 4)),),
                supplies=tuple(
                    Supply(
                        client=client,
                        topic=topic,
                        count=1,
                        period_ns=rng.randint(15, 60),
                        burst=rng.randint(1, 2),
                        jitter_ns=rng.randint(0, 20),
                    )
                    for client in clients
                ),
                demands=(Demand(key="1", client="reader", topic=topic, max_latency_ns=rng.randint(10, 200)),),
            )
        )
    return book


def kept_at_every_instant(stage: Edf, delay: Delay, until_ns: int) -> bool:
    before_ns = common_ns(delay)
    for t in range(1, until_ns):
        demand_ns = sum(
            stream.passed_ns(t - task.deadline_ns + before_ns)
            for task in stage.tasks
            if task.deadline_ns - before_ns <= t
            for stream in task.streams
        )
        if demand_ns and delay.pace.time_ns(delay.reading_ns + demand_ns) > t:
            return False
    return True


def test_the_deadlines_are_kept_if_and_only_if_every_instant_says_so() -> None:
    answers = {True: 0, False: 0}
    lines = 0
    for label, rng in seeds(150):
        book = drawn(rng)
        stage = book.stage
        assert isinstance(stage, Edf)
        delay = book.load.delay(book.rest)
        if delay is None or stage.overloaded(delay) is not None:
            continue
        if stage.tasks[0].deadline_ns <= common_ns(delay):
            continue
        horizon_ns = stage.horizon_ns(delay)
        if horizon_ns > 4_000:
            continue
        expected = kept_at_every_instant(stage, delay, horizon_ns + 200)
        assert stage.keeps(delay) == expected, label
        assert (stage.late(delay) is None) == expected, label
        if min(stage.spare(delay)) >= 0:
            lines += 1
            assert expected, label
        answers[expected] += 1
    assert answers[True]
    assert answers[False]
    assert lines
