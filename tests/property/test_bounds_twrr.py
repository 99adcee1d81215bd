"""(T1) - (T5) and the refinement of (T4) against exact simulation."""

from __future__ import annotations

import random
from fractions import Fraction
from math import floor, gcd

from bounds_simulation import (
    Slot,
    broker_responses,
    conforming,
    fixed_slots,
    greedy,
    responses_from,
    seeds,
)

from giusto.guarantee import smooth, table, twrr, wrr

ONE = Fraction(1)


def random_vector(rng: random.Random) -> tuple[list[int], list[int]]:
    topics = rng.randint(1, 6)
    kind = rng.choice(["any", "equal", "scaled", "sorted"])
    weights = [rng.randint(1, 9) for _ in range(topics)]
    if kind == "equal":
        weights = [weights[0]] * topics
    elif kind == "scaled":
        weights = [3 * weight for weight in weights]
    elif kind == "sorted":
        weights.sort(reverse=True)
    return weights, [rng.randint(1, 4) for _ in range(topics)]


def pseudocode(weights: list[int]) -> list[int]:
    """S0 Fig. 3, word for word, for one cycle."""
    divisor = gcd(*weights)
    k, cw, order = -1, 0, []
    while len(order) < sum(weights) // divisor:
        k = (k + 1) % len(weights)
        if k == 0:
            cw -= divisor
            if cw <= 0:
                cw = max(weights)
        if weights[k] >= cw:
            order.append(k)
    return order


def longest_run(order: list[int], sizes: list[int], topic: int, n: int) -> int:
    """Walk from every cell of the topic to its n-th next one and weigh what lies between."""
    worst = 0
    for start in (i for i, cell in enumerate(order) if cell == topic):
        seen, foreign, position = 0, 0, start
        while seen < n:
            position = (position + 1) % len(order)
            if order[position] == topic:
                seen += 1
            else:
                foreign += sizes[order[position]]
        worst = max(worst, foreign)
    return worst


def test_cells_are_those_of_the_pseudocode() -> None:
    for seed, rng in seeds(500):
        weights, _ = random_vector(rng)
        assert twrr.cells(weights) == pseudocode(weights), f"GIUSTO_SEED={seed}"


def test_t1_is_the_longest_run_of_gaps() -> None:
    """(T1), and (T2) exact when sorted and never below otherwise."""
    for seed, rng in seeds(1500):
        weights, publishers = random_vector(rng)
        order = pseudocode(weights)
        topic = rng.randrange(len(weights))
        own = order.count(topic)
        for n in sorted({1, *(rng.randint(1, 2 * own + 2) for _ in range(16))}):
            true = longest_run(order, publishers, topic, n)
            message = f"GIUSTO_SEED={seed} {weights} {publishers} topic {topic} n {n}"
            assert twrr.gap(weights, publishers, topic, n) == true, message
            assert table.gap(order, publishers, topic, n) == true, message
            closed = twrr.closed_gap(weights, publishers, topic, n)
            assert closed >= true, message
            if weights == sorted(weights, reverse=True):
                assert closed == true, message


def random_flow(rng: random.Random, service_rate: Fraction) -> tuple[Fraction, Fraction]:
    burst = rng.choice([ONE, Fraction(rng.randint(1, 6)), Fraction(rng.randint(4, 20), 4)])
    return burst, service_rate * rng.choice([Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), ONE])


def check_response(order: list[int], rng: random.Random, message: str, bound) -> None:  # type: ignore[no-untyped-def]
    topics = max(order) + 1
    sizes = [rng.randint(1, 3) for _ in range(topics)]
    topic = rng.randrange(topics)
    quantum, fragments = Fraction(rng.randint(1, 4), 2), rng.choice([1, 1, 2, 3])
    own, length = order.count(topic), sum(sizes[cell] for cell in order) * quantum
    burst, rate = random_flow(rng, own / length / fragments)
    slot = Slot(order, sizes, topic, rng.randrange(sizes[topic]))
    arrivals = greedy(burst, rate, floor(burst) + 2 * own + 1)
    for search in (None, Fraction(0), quantum / 8):
        empty = quantum if search is None else search
        seen = max(
            response
            for start, cell in enumerate(order)
            if cell == topic
            for response in responses_from(slot, start, arrivals, quantum, empty, fragments)
        )
        promised = bound(sizes, topic, burst, rate, quantum, fragments, search is not None, search or 0)
        assert seen == promised, f"{message} {sizes} topic {topic} burst {burst} rate {rate} search {search}"


def test_t4_equals_the_worst_simulated_response() -> None:
    for seed, rng in seeds(160):
        weights, _ = random_vector(rng)
        check_response(
            pseudocode(weights),
            rng,
            f"GIUSTO_SEED={seed} {weights}",
            lambda sizes, *rest, weights=weights: twrr.response(weights, sizes, *rest),
        )


def test_t4_holds_for_smooth_and_for_random_tables() -> None:
    for seed, rng in seeds(120):
        weights, _ = random_vector(rng)
        check_response(
            smooth.cells(weights),
            rng,
            f"GIUSTO_SEED={seed} smooth {weights}",
            lambda sizes, *rest, weights=weights: smooth.response(weights, sizes, *rest),
        )
        order = [0, 1, 2, *(rng.randrange(3) for _ in range(rng.randint(0, 12)))]
        rng.shuffle(order)
        check_response(
            order,
            rng,
            f"GIUSTO_SEED={seed} table {order}",
            lambda sizes, *rest, order=order: table.response(order, sizes, *rest),
        )


def test_smooth_gives_the_same_shares_and_no_longer_cycle() -> None:
    for seed, rng in seeds(300):
        weights, _ = random_vector(rng)
        assert sorted(smooth.cells(weights)) == sorted(twrr.cells(weights)), f"GIUSTO_SEED={seed}"


def test_t5_lies_above_t4_and_its_closed_form_above_it() -> None:
    for seed, rng in seeds(300):
        weights, publishers = random_vector(rng)
        topic, conserving = rng.randrange(len(weights)), rng.random() < 0.5
        arguments = (weights, publishers, topic)
        rate = twrr.service_rate(*arguments, 1)
        latency = twrr.latency(*arguments, 1, conserving)
        message = f"GIUSTO_SEED={seed} {weights} {publishers} topic {topic}"
        assert latency <= twrr.closed_latency(*arguments, 1, conserving), message
        for n in range(1, 30):
            assert twrr.completion(*arguments, n, 1, conserving) <= latency + (n - 1) / rate, message
        burst = Fraction(rng.randint(4, 30), 4)
        exact = twrr.response(*arguments, burst, rate, 1, 1, conserving)
        assert exact <= latency + (burst - 1) / rate, message


def two_brokers(rng: random.Random) -> tuple[list[tuple[list[int], list[int], int]], Fraction]:
    brokers = []
    for _ in range(2):
        weights, publishers = random_vector(rng)
        brokers.append((weights, publishers, rng.randrange(len(weights))))
    slowest = min(twrr.service_rate(*broker, 1) for broker in brokers)
    return brokers, slowest * rng.choice([Fraction(1, 2), ONE])


def test_chain_of_brokers_keeps_the_sum_of_t4_and_the_chain_bound() -> None:
    """The second hop alone may exceed its own bound for σ = 1, because the first has bunched the flow."""
    second_alone_exceeded = 0
    for seed, rng in seeds(400):
        brokers, rate = two_brokers(rng)
        bounds = [twrr.response(*broker, 1, rate, 1, 1, False) for broker in brokers]
        hops = [(twrr.latency(*broker, 1, False), twrr.service_rate(*broker, 1)) for broker in brokers]
        begin = Fraction(rng.randint(0, 40), 8)
        times = [begin + n / rate for n in range(25)]
        moment = times
        for (weights, publishers, topic), bound in zip(brokers, bounds, strict=True):
            order = wrr.cells(weights)
            slot = Slot(order, publishers, topic, rng.randrange(publishers[topic]))
            done = fixed_slots(slot, rng.randrange(len(order)), moment)
            hop = max(end - since for end, since in zip(done, moment, strict=True))
            second_alone_exceeded += moment is not times and hop > bound
            moment = done
        seen = max(end - since for end, since in zip(moment, times, strict=True))
        assert seen <= sum(bounds), f"GIUSTO_SEED={seed} {brokers} rate {rate}"
        assert seen <= twrr.chain_response(hops, 1), f"GIUSTO_SEED={seed} {brokers} rate {rate}"
    assert second_alone_exceeded > 0


def test_chain_convolution_of_periodic_flow_is_the_sum_of_t4() -> None:
    """max over a, b of t1(a) + t2(b) - ((a+b-2)/ρ) separates into the two hops."""
    for seed, rng in seeds(40):
        brokers, rate = two_brokers(rng)
        first, second = ([twrr.completion(*broker, n, 1, False) for n in range(1, 22)] for broker in brokers)
        joint = max(a + b - (i + j) / rate for i, a in enumerate(first) for j, b in enumerate(second))
        total = sum(twrr.response(*broker, 1, rate, 1, 1, False) for broker in brokers)
        assert joint == total, f"GIUSTO_SEED={seed}"


def random_flows(rng: random.Random) -> tuple[list[int], list[list[tuple[Fraction, Fraction]]]]:
    weights, publishers = random_vector(rng)
    weights, publishers = weights[:4], publishers[:4]
    flows = []
    for topic, count in enumerate(publishers):
        rate = twrr.service_rate(weights, publishers, topic, 1)
        flows.append([random_flow(rng, rate) for _ in range(count)])
    return weights, flows


def test_refinement_holds_in_a_work_conserving_broker_and_is_never_above_t4() -> None:
    smaller = 0
    for seed, rng in seeds(20):
        weights, flows = random_flows(rng)
        search = Fraction(1, rng.choice([4, 10]))
        publishers = [len(of_topic) for of_topic in flows]
        refined = {}
        for topic, of_topic in enumerate(flows):
            for client, (burst, rate) in enumerate(of_topic):
                bound = twrr.refined_response(weights, flows, topic, client, 1, search)
                loose = twrr.response(weights, publishers, topic, burst, rate, 1, search=search)
                assert bound <= loose, f"GIUSTO_SEED={seed}"
                smaller += bound < loose
                refined[topic, client] = bound
        order = wrr.cells(weights)
        for densest in (True, False):
            offset = Fraction(rng.randint(0, 30), 7)
            arrivals = {
                (m, j): [offset + time for time in greedy(*flow, 12)]
                if densest
                else conforming(rng, *flow, 12)
                for m, of_topic in enumerate(flows)
                for j, flow in enumerate(of_topic)
            }
            for start in rng.sample(range(len(order)), min(3, len(order))):
                seen = broker_responses(order, arrivals, start, ONE, search)
                for queue, worst in seen.items():
                    assert worst <= refined[queue], f"GIUSTO_SEED={seed} {weights} {flows} {queue} {start}"
    assert smaller > 0


def test_output_burst_covers_what_leaves_the_broker() -> None:
    for seed, rng in seeds(60):
        weights, publishers = random_vector(rng)
        topic = rng.randrange(len(weights))
        burst, rate = random_flow(rng, twrr.service_rate(weights, publishers, topic, 1))
        bound = twrr.response(weights, publishers, topic, burst, rate, 1, 1, False)
        after = twrr.output_burst(burst, rate, bound, 1)
        order = wrr.cells(weights)
        slot = Slot(order, publishers, topic, 0)
        done = fixed_slots(slot, rng.randrange(len(order)), conforming(rng, burst, rate, 25))
        for i, begin in enumerate(done):
            for j in range(i, len(done)):
                assert j - i + 1 <= after + rate * (done[j] - begin), f"GIUSTO_SEED={seed}"
