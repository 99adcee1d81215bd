"""(V1), (V2) and the bound for priorities inside a topic against the exact tag scheduler."""

from __future__ import annotations

import random
from fractions import Fraction
from math import floor

import pytest
from bounds_simulation import conforming, greedy, seeds

from giusto.errors import Overload
from giusto.guarantee import envelope, fair

EPSILON = Fraction(1, 10**6)


def random_topics(rng: random.Random) -> tuple[list[Fraction], list[Fraction]]:
    rates = [Fraction(rng.randint(1, 12), rng.choice([1, 1, 2, 3])) for _ in range(rng.randint(1, 5))]
    deadlines = [
        rng.choice([Fraction(1), Fraction(1, 2), Fraction(1, 7), Fraction(0)]) / rate for rate in rates
    ]
    return rates, deadlines


def random_flow(rng: random.Random, guaranteed: Fraction) -> tuple[Fraction, Fraction]:
    burst = rng.choice([Fraction(1), Fraction(rng.randint(1, 5)), Fraction(rng.randint(4, 18), 4)])
    return burst, guaranteed * rng.choice([Fraction(1, 3), Fraction(4, 5), Fraction(1)])


def long_search(
    rates: list[Fraction], deadlines: list[Fraction], topic: int, flow: tuple[Fraction, Fraction]
) -> Fraction:
    burst, rate = flow
    first = floor(burst)
    return max(
        fair.completion(rates, deadlines, topic, j, 1) - max(Fraction(0), (j - burst) / rate)
        for j in range(first, first + 300)
    )


def test_v2_is_the_largest_over_all_messages_and_below_its_line() -> None:
    for seed, rng in seeds(150):
        rates, deadlines = random_topics(rng)
        topic = rng.randrange(len(rates))
        flow = random_flow(rng, fair.guaranteed_rate(rates, topic, 1))
        bound = fair.response(rates, deadlines, topic, *flow, 1)
        message = f"GIUSTO_SEED={seed} {rates} {deadlines} topic {topic} flow {flow}"
        assert bound == long_search(rates, deadlines, topic, flow), message
        assert bound <= fair.linear_response(rates, deadlines, topic, flow[0], 1), message


def test_v2_with_awkward_rates_is_cut_short_but_stays_between_exact_and_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(envelope, "STEPS", 50)
    rates = [Fraction(1), Fraction("3.14159265"), Fraction("2.71828183")]
    guaranteed = fair.guaranteed_rate(rates, 0, 1)
    bound = fair.response(rates, None, 0, 1, guaranteed, 1)
    assert long_search(rates, [1 / rate for rate in rates], 0, (Fraction(1), guaranteed)) <= bound
    assert bound <= fair.linear_response(rates, None, 0, 1, 1)


def test_v2_is_attained_when_everybody_else_is_at_the_same_tag() -> None:
    """All other topics start with equal F and flood; the message comes just after the first choice."""
    for seed, rng in seeds(120):
        rates, deadlines = random_topics(rng)
        topic = rng.randrange(len(rates))
        flow = random_flow(rng, fair.guaranteed_rate(rates, topic, 1))
        equal = min((1 / rate for k, rate in enumerate(rates) if k != topic), default=Fraction(1))
        deadlines = [own if k == topic else equal for k, own in enumerate(deadlines)]
        bound = fair.response(rates, deadlines, topic, *flow, 1)
        count = next(
            n for n in range(floor(flow[0]), 400) if response_of(rates, deadlines, topic, n, flow) == bound
        )
        own = [(EPSILON + time, topic) for time in greedy(*flow, count)]
        flood = [
            (0, k) for k in range(len(rates)) if k != topic for _ in range(floor(bound + own[-1][0]) + 1)
        ]
        ties = [k for k in range(len(rates)) if k != topic] + [topic]
        served = fair.order(rates, deadlines, own + flood, 1, ties)
        last = next(item for item in served if item.message == count - 1)
        seen = last.end - own[-1][0]
        message = f"GIUSTO_SEED={seed} {rates} {deadlines} topic {topic} flow {flow}"
        assert bound - EPSILON <= seen <= bound, message


def response_of(
    rates: list[Fraction], deadlines: list[Fraction], topic: int, n: int, flow: tuple[Fraction, Fraction]
) -> Fraction:
    return fair.completion(rates, deadlines, topic, n, 1) - max(Fraction(0), (n - flow[0]) / flow[1])


def random_flood(rng: random.Random, topics: list[int]) -> list[tuple[Fraction, int, int]]:
    flood = []
    for k in topics:
        for _ in range(rng.randint(1, 4)):
            time = Fraction(rng.randint(0, 200), 8)
            flood += [(time, k, 0)] * rng.randint(1, 25)
    return flood


def test_no_response_exceeds_v2_under_flooding() -> None:
    for seed, rng in seeds(200):
        rates, deadlines = random_topics(rng)
        topic = rng.randrange(len(rates))
        flow = random_flow(rng, fair.guaranteed_rate(rates, topic, 1))
        own = [(time, topic, 0) for time in conforming(rng, *flow, 15)]
        flood = random_flood(rng, [k for k in range(len(rates)) if k != topic])
        ties = rng.sample(range(len(rates)), len(rates))
        bound = fair.response(rates, deadlines, topic, *flow, 1)
        for item in fair.order(rates, deadlines, own + flood, 1, ties):
            if item.topic == topic:
                message = f"GIUSTO_SEED={seed} {rates} {deadlines} topic {topic} flow {flow}"
                assert item.end - own[item.message][0] <= bound, message


def test_no_urgent_message_exceeds_its_bound_while_its_own_topic_floods() -> None:
    closest = Fraction(0)
    for seed, rng in seeds(250):
        rates, deadlines = random_topics(rng)
        topic = rng.randrange(len(rates))
        flow = random_flow(rng, fair.guaranteed_rate(rates, topic, 1))
        own = [(time, topic, 1) for time in conforming(rng, *flow, 12)]
        flood = random_flood(rng, list(range(len(rates))))
        ties = rng.sample(range(len(rates)), len(rates))
        bound = fair.priority_response(rates, deadlines, topic, *flow, 1)
        for item in fair.order(rates, deadlines, own + flood, 1, ties):
            if item.message < len(own):
                seen = item.end - own[item.message][0]
                closest = max(closest, seen / bound)
                message = f"GIUSTO_SEED={seed} {rates} {deadlines} topic {topic} flow {flow}"
                assert seen <= bound, message
    assert closest > Fraction(1, 2)


def test_priority_bound_is_attained_behind_an_own_message_in_service() -> None:
    """The lower message of the own topic is taken first (F = 0.9), then two of the other (0.905, 1.814)."""
    rates, deadlines = ["1", "1.1"], ["0.9", "0.905"]
    arrivals = [(EPSILON, 0, 1), (0, 0, 0), (0, 0, 0), (0, 1, 0), (0, 1, 0), (0, 1, 0)]
    served = fair.order(rates, deadlines, arrivals, 1)
    assert [item.topic for item in served[:4]] == [0, 1, 1, 0]
    assert served[3].message == 0
    assert served[3].end == 4 == fair.priority_response(rates, deadlines, 0, 1, 0, 1)


def test_work_is_conserved_and_shares_follow_the_rates() -> None:
    for seed, rng in seeds(40):
        rates, deadlines = random_topics(rng)
        total = sum(rates)
        flood = [(0, k) for k in range(len(rates)) for _ in range(120)]
        served = fair.order(rates, deadlines, flood, 1)[:100]
        assert [item.start for item in served] == list(range(100)), f"GIUSTO_SEED={seed}"
        for k, rate in enumerate(rates):
            count = sum(item.topic == k for item in served)
            # Tags of a topic lie 1/r apart and all finish tags stay within 1/r of the virtual time.
            slack = len(rates) + 1 + sum(rates) / min(rates)
            assert abs(count - 100 * rate / total) <= slack, f"GIUSTO_SEED={seed} {rates} {deadlines}"


def test_a_flow_above_its_guaranteed_rate_has_no_bound() -> None:
    with pytest.raises(Overload, match="1/2"):
        fair.response([1, 1], None, 0, 1, Fraction(51, 100), 1)
