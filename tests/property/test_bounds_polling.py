"""(Q1) against an exact polling server, for one topic and for several under the tag scheduler."""

from __future__ import annotations

import random
from fractions import Fraction
from math import floor

from bounds_simulation import conforming, greedy, polled_completions, seeds

from giusto.guarantee import fair, polling


def random_window(rng: random.Random) -> dict[str, Fraction]:
    service = Fraction(rng.randint(1, 4), 2)
    budget = service * Fraction(rng.randint(4, 20), 4)
    return {"period": budget + Fraction(rng.randint(0, 12), 2), "budget": budget, "service": service}


def window_rate(window: dict[str, Fraction]) -> Fraction:
    return floor(window["budget"] / window["service"]) / window["period"]


def test_q1_is_attained_by_the_arrival_just_after_the_server_left() -> None:
    for seed, rng in seeds(300):
        window = random_window(rng)
        burst = rng.choice([Fraction(1), Fraction(rng.randint(4, 40), 4)])
        rate = window_rate(window) * rng.choice([Fraction(1, 3), Fraction(4, 5), Fraction(1)])
        arrivals = greedy(burst, rate, floor(burst) + 40)
        done = polled_completions(arrivals, **window)
        seen = max(end - begin for end, begin in zip(done, arrivals, strict=True))
        bound = polling.response(burst, rate, **window)
        assert seen == bound, f"GIUSTO_SEED={seed} {window} burst {burst} rate {rate}"


def test_q1_holds_for_random_arrivals_in_both_modes() -> None:
    for seed, rng in seeds(200):
        window = random_window(rng)
        keeps = rng.random() < 0.5
        burst = Fraction(rng.randint(4, 20), 4)
        rate = window_rate(window) * rng.choice([Fraction(1, 2), Fraction(1)])
        arrivals = conforming(rng, burst, rate, 25)
        done = polled_completions(arrivals, **window, keeps=keeps, missed=rng.random() < 0.5)
        seen = max(end - begin for end, begin in zip(done, arrivals, strict=True))
        bound = polling.response(burst, rate, **window, keeps_window=keeps)
        assert seen <= bound, f"GIUSTO_SEED={seed} {window} burst {burst} rate {rate} keeps {keeps}"


def test_a_kept_window_is_missed_worst_by_one_service() -> None:
    """P - T + 2/μ for one message, attained by the arrival just after the last possible start."""
    for seed, rng in seeds(100):
        window = random_window(rng)
        arrival = window["budget"] - window["service"]
        done = polled_completions([arrival], **window, keeps=True, missed=True)
        bound = polling.time_to_serve(1, **window, keeps_window=True)
        message = f"GIUSTO_SEED={seed} {window}"
        assert bound == window["period"] - window["budget"] + 2 * window["service"], message
        # The simulated arrival is at the last start itself; ε later it is the bound.
        just_after = polled_completions([arrival + Fraction(1, 10**6)], **window, keeps=True)
        assert done[0] - arrival <= bound, message
        assert bound - Fraction(1, 10**5) <= just_after[0] - arrival <= bound, message


class TaggedQueues:
    """The tags of `fair`, one message at a time, so that a polling server can drive them."""

    def __init__(self, rates: list[Fraction], deadlines: list[Fraction]) -> None:
        self.rates, self.deadlines = rates, deadlines
        self.waiting: list[list[int]] = [[] for _ in rates]
        self.reset()

    def reset(self) -> None:
        self.virtual = Fraction(0)
        self.start: list[Fraction | None] = [None] * len(self.rates)

    def tag(self, k: int) -> None:
        before = self.start[k]
        self.start[k] = self.virtual if before is None else max(self.virtual, before + 1 / self.rates[k])

    def add(self, k: int, message: int) -> None:
        self.waiting[k].append(message)
        if len(self.waiting[k]) == 1:
            self.tag(k)

    def finish(self, k: int) -> Fraction:
        start = self.start[k]
        assert start is not None
        return start + self.deadlines[k]

    def take(self, rng: random.Random) -> int:
        k = min(
            (k for k, queue in enumerate(self.waiting) if queue), key=lambda k: (self.finish(k), rng.random())
        )
        self.virtual = self.finish(k)
        message = self.waiting[k].pop(0)
        if self.waiting[k]:
            self.tag(k)
        return message


def polled_topics(
    queues: TaggedQueues,
    arrivals: list[tuple[Fraction, int]],
    window: dict[str, Fraction],
    rng: random.Random,
) -> dict[int, Fraction]:
    """Completion of each arrival; the server leaves, and forgets the tags, when it is idle."""
    pending = sorted(range(len(arrivals)), key=lambda i: arrivals[i][0])
    done: dict[int, Fraction] = {}
    begin, seen = Fraction(0), 0

    def admit(now: Fraction) -> None:
        nonlocal seen
        while seen < len(pending) and arrivals[pending[seen]][0] <= now:
            queues.add(arrivals[pending[seen]][1], pending[seen])
            seen += 1

    while len(done) < len(arrivals):
        now = begin
        while now + window["service"] <= begin + window["budget"]:
            admit(now)
            if not any(queues.waiting):
                queues.reset()
                break
            message = queues.take(rng)
            now += window["service"]
            done[message] = now
        begin += window["period"]
    return done


def test_q1_holds_for_several_topics() -> None:
    closest = Fraction(0)
    for seed, rng in seeds(150):
        window = random_window(rng)
        rates = [Fraction(rng.randint(1, 6)) for _ in range(rng.randint(2, 4))]
        deadlines = [rng.choice([Fraction(1), Fraction(1, 3)]) / rate for rate in rates]
        topic = rng.randrange(len(rates))
        guaranteed = window_rate(window) * rates[topic] / sum(rates)
        burst, rate = Fraction(rng.randint(4, 12), 4), guaranteed * rng.choice([Fraction(1, 2), Fraction(1)])
        own = [(time, topic) for time in conforming(rng, burst, rate, 10)]
        flood = [
            (Fraction(rng.randint(0, 160), 8), k) for k in range(len(rates)) if k != topic for _ in range(15)
        ]
        done = polled_topics(TaggedQueues(rates, deadlines), own + flood, window, rng)
        bound = polling.response(burst, rate, **window, rates=rates, deadlines=deadlines, topic=topic)
        seen = max(done[i] - time for i, (time, _) in enumerate(own))
        closest = max(closest, seen / bound)
        assert seen <= bound, f"GIUSTO_SEED={seed} {window} {rates} {deadlines} topic {topic}"
    assert closest > Fraction(1, 4)


def test_one_message_of_several_topics_waits_for_what_v1_counts() -> None:
    window = {"period": Fraction(10), "budget": Fraction(4), "service": Fraction(1)}
    ahead = fair.completion([1, 1], None, 0, 1, 1)
    assert ahead == 3
    assert polling.response(1, 0, **window, rates=[1, 1]) == polling.time_to_serve(3, **window) == 13


def test_a_rate_is_stable_exactly_up_to_the_whole_messages_of_a_window() -> None:
    for seed, rng in seeds(60):
        window = random_window(rng)
        rate = window_rate(window)
        message = f"GIUSTO_SEED={seed} {window}"
        assert polling.stable(rate, **window), message
        assert not polling.stable(rate * Fraction(101, 100), **window), message
        for factor, grows in ((Fraction(1), False), (Fraction(5, 4), True)):
            arrivals = greedy(Fraction(1), rate * factor, 240)
            done = polled_completions(arrivals, **window)
            delays = [end - begin for end, begin in zip(done, arrivals, strict=True)]
            assert (max(delays[120:]) > max(delays[:120])) == grows, message
