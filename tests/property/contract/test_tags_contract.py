"""What `fair` and `edf` promise beyond the common contract: exactly the order of their tags."""

from __future__ import annotations

import random
from fractions import Fraction

from giusto import _core
from giusto.guarantee import fair
from policies import scatter, topic_flows
from seeds import seeds
from workload import Promise, Workload, pauses


def tagged_workload(rng: random.Random, shares: list[_core.Share], service_ns: list[int]) -> Workload:
    """Bursts, lulls and all message priorities, over one to three clients per topic."""
    flows = topic_flows(rng, len(shares))
    times = sorted(rng.choice([0, 0, 200, 5_000]) + rng.randrange(400) for _ in range(rng.randint(1, 80)))
    arrivals = [(at_ns, rng.randrange(len(flows)), rng.choice([0, 0, 0, 3, 7]), 4) for at_ns in times]
    return Workload(shares, service_ns, flows, arrivals)


def test_fair_serves_in_the_order_of_exact_tags() -> None:
    for seed in seeds(600):
        rng = random.Random(seed)
        rates = [rng.randint(1, 20) for _ in range(rng.randint(1, 6))]
        deadlines = [rng.choice([None, Fraction(1, rate * rng.choice([1, 2, 4, 5, 10]))]) for rate in rates]
        ticks = [None if d is None else d * _core.TICKS for d in deadlines]
        assert all(d is None or d.denominator == 1 for d in ticks)
        shares = [
            _core.Share(rate=rate, virtual_deadline=None if d is None else int(d))
            for rate, d in zip(rates, ticks, strict=True)
        ]
        service_ns = rng.randint(1, 40)
        workload = tagged_workload(rng, shares, [service_ns] * len(rates))
        seen = [arrival for arrival, _, _ in workload.serve("fair").completions]
        arrivals = [(at, workload.flows[flow][1], priority) for at, flow, priority, _ in workload.arrivals]
        exact = [served.message for served in fair.order(rates, deadlines, arrivals, service_ns)]
        assert seen == exact, f"{seed=} {rates=} {deadlines=}"


def edf_order(workload: Workload) -> list[int]:
    """S = max(arrival of the oldest, S + T), F = S + D, least F first, ties to the lower topic."""
    waiting: list[list[tuple[int, int]]] = [[] for _ in workload.shares]
    earliest = [-(10**18)] * len(workload.shares)
    deadline: dict[int, int] = {}
    order: list[int] = []
    now, seen = workload.arrivals[0][0], 0

    def tag(topic: int) -> None:
        oldest = min(message for _, message in waiting[topic])
        start = max(workload.arrivals[oldest][0], earliest[topic])
        earliest[topic] = start + workload.shares[topic].period_ns
        deadline[topic] = start + workload.shares[topic].deadline_ns

    while len(order) < len(workload.arrivals):
        while seen < len(workload.arrivals) and workload.arrivals[seen][0] <= now:
            _, flow, priority, _ = workload.arrivals[seen]
            topic = workload.flows[flow][1]
            waiting[topic].append((-priority, seen))
            seen += 1
            if len(waiting[topic]) == 1:
                tag(topic)
        ready = [topic for topic, messages in enumerate(waiting) if messages]
        if not ready:
            now = workload.arrivals[seen][0]
            continue
        chosen = min(ready, key=lambda topic: (deadline[topic], topic))
        message = min(waiting[chosen])
        waiting[chosen].remove(message)
        order.append(message[1])
        if waiting[chosen]:
            tag(chosen)
        now += workload.service_ns[chosen]
    return order


def test_edf_serves_in_the_order_of_its_tags() -> None:
    for seed in seeds(600):
        rng = random.Random(seed)
        shares = [
            _core.Share(period_ns=rng.randint(1, 300), deadline_ns=rng.randint(1, 900))
            for _ in range(rng.randint(1, 6))
        ]
        workload = tagged_workload(rng, shares, [rng.randint(1, 40) for _ in shares])
        seen = [arrival for arrival, _, _ in workload.serve("edf").completions]
        assert seen == edf_order(workload), f"{seed=}"


def test_the_most_urgent_messages_of_a_topic_keep_their_own_bound() -> None:
    """The other topics flood, and so do the lower priorities of the topic itself."""
    closest = Fraction(0)
    for seed in seeds(400):
        rng = random.Random(seed)
        rates = [rng.randint(1, 9) for _ in range(rng.randint(1, 5))]
        service_ns = rng.randint(1, 30)
        rate = Fraction(rates[0], sum(rates) * service_ns) * Fraction(rng.randint(25, 100), 100)
        promise = Promise(Fraction(rng.randint(1, 4)), rate)
        bound = fair.priority_response(rates, None, 0, promise.burst, rate, service_ns)
        flows = topic_flows(rng, len(rates))
        span_ns = 30 * sum(rates) * service_ns
        urgent = promise.times(rng.randrange(span_ns // 4), 15, pauses(rng, span_ns // 20))
        arrivals = [(at_ns, flow, 7, size) for at_ns, flow, size in scatter(rng, flows, 0, urgent)]
        for topic in range(len(rates)):
            flood = sorted(rng.randrange(2) * span_ns // 2 for _ in range(2 * span_ns // service_ns))
            arrivals += [(at_ns, flow, 0, size) for at_ns, flow, size in scatter(rng, flows, topic, flood)]
        arrivals.sort(key=lambda arrival: arrival[0])
        shares = [_core.Share(rate=own) for own in rates]
        workload = Workload(shares, [service_ns] * len(rates), flows, arrivals, rng.random() < 0.5)
        for arrival, _, completed_ns in workload.serve("fair").completions:
            at_ns, _, priority, _ = workload.arrivals[arrival]
            if priority == 7:
                assert completed_ns - at_ns <= bound, f"{seed=} {rates=} {promise=}"
                closest = max(closest, (completed_ns - at_ns) / bound)
    assert closest > Fraction(1, 2)
