"""What each policy promises: one entry per policy, so that the suite can hold it to that.

An entry generates a workload in which some topics or flows keep a promise while the others flood,
and says what bound each message of those has. Adding a policy means adding an entry here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from giusto import _core
from giusto.guarantee import edf, fair, smooth, twrr
from workload import FRAGMENT_BYTES, Promise, Workload, pauses


@dataclass(frozen=True, slots=True)
class Case:
    """A workload, and the bound in ns of each flow that keeps its promise."""

    workload: Workload
    bounds: dict[int, Fraction]
    note: str


@dataclass(frozen=True, slots=True)
class Policy:
    """What the suite needs to know of a policy."""

    case: Callable[[int], Case]
    allotment: Callable[[list[_core.Share], list[int], list[int]], list[Fraction]]


def flood(rng: random.Random, span_ns: int, service_ns: int) -> list[int]:
    """More than the server can do, all at once or in waves."""
    count = min(400, 2 + 2 * span_ns // service_ns)
    waves = rng.choice([1, 1, 2, 5])
    return sorted(rng.randrange(waves) * span_ns // waves for _ in range(count))


def burst_of(rng: random.Random) -> Fraction:
    return rng.choice(
        [Fraction(1), Fraction(1), Fraction(rng.randint(1, 6)), Fraction(rng.randint(4, 24), 4)]
    )


def assemble(
    rng: random.Random,
    shares: list[_core.Share],
    service_ns: list[int],
    flows: list[tuple[int, int, int]],
    times: list[tuple[int, int, int]],  # at_ns, flow, size_bytes
) -> Workload:
    arrivals = [(at_ns, flow, 0, size) for at_ns, flow, size in sorted(times, key=lambda entry: entry[0])]
    return Workload(shares, service_ns, flows, arrivals, service_first=rng.random() < 0.5)


def table_case(response: Callable[..., Fraction]) -> Callable[[int], Case]:
    """(T4) for `twrr` and, with the gaps of its own table, for `smooth`."""

    def case(seed: int) -> Case:
        rng = random.Random(seed)
        topics = rng.randint(1, 6)
        weights = [rng.randint(1, 9) * rng.choice([1, 1, 2]) for _ in range(topics)]
        publishers = [rng.randint(1, 3) for _ in range(topics)]
        quantum_ns = rng.randint(1, 50)
        flows = [(client, topic, 65_535) for topic, count in enumerate(publishers) for client in range(count)]
        cycle_ns = sum(w * n for w, n in zip(weights, publishers, strict=True)) * quantum_ns
        honest = rng.random() < 0.4
        bounds: dict[int, Fraction] = {}
        times: list[tuple[int, int, int]] = []
        fragments = rng.choice([1, 1, 2, 3])
        for flow, (_, topic, _) in enumerate(flows):
            if honest or not bounds or rng.random() < 0.3:
                rate = Fraction(weights[topic], cycle_ns * fragments) * Fraction(rng.randint(25, 100), 100)
                promise = Promise(burst_of(rng), rate)
                arrivals = promise.times(rng.randint(0, 3 * cycle_ns), 20, pauses(rng, 2 * cycle_ns))
                times += [(at_ns, flow, fragments * FRAGMENT_BYTES) for at_ns in arrivals]
                bounds[flow] = response(
                    weights, publishers, topic, promise.burst, rate, quantum_ns, fragments=fragments
                )
            else:
                times += [(at_ns, flow, FRAGMENT_BYTES) for at_ns in flood(rng, 10 * cycle_ns, quantum_ns)]
        shares = [_core.Share(weight=weight) for weight in weights]
        workload = assemble(rng, shares, [quantum_ns] * topics, flows, times)
        return Case(workload, bounds, f"{weights=} {publishers=} {quantum_ns=} {fragments=}")

    return case


def topic_flows(rng: random.Random, topics: int) -> list[tuple[int, int, int]]:
    return [(client, topic, 65_535) for topic in range(topics) for client in range(rng.randint(1, 3))]


def scatter(
    rng: random.Random, flows: list[tuple[int, int, int]], topic: int, times: list[int]
) -> list[tuple[int, int, int]]:
    """Spreads a topic's arrivals over its clients."""
    own = [flow for flow, (_, k, _) in enumerate(flows) if k == topic]
    return [(at_ns, rng.choice(own), 4) for at_ns in times]


def fair_case(seed: int) -> Case:
    """(V2): a topic that keeps its rate, whatever the others do."""
    rng = random.Random(seed)
    topics = rng.randint(1, 6)
    rates = [rng.randint(1, 9) for _ in range(topics)]
    deadlines = [rng.choice([None, Fraction(1, rate * rng.randint(1, 12))]) for rate in rates]
    service_ns = rng.randint(1, 50)
    flows = topic_flows(rng, topics)
    span_ns = 40 * sum(rates) * service_ns
    bounds: dict[int, Fraction] = {}
    times: list[tuple[int, int, int]] = []
    honest = rng.random() < 0.4
    for topic, topic_rate in enumerate(rates):
        if honest or not bounds or rng.random() < 0.3:
            rate = Fraction(topic_rate, sum(rates) * service_ns) * Fraction(rng.randint(25, 100), 100)
            promise = Promise(burst_of(rng), rate)
            arrivals = promise.times(rng.randint(0, span_ns // 4), 25, pauses(rng, span_ns // 20))
            times += scatter(rng, flows, topic, arrivals)
            bound = fair.response(rates, deadlines, topic, promise.burst, rate, service_ns)
            bounds |= {flow: bound for flow, (_, k, _) in enumerate(flows) if k == topic}
        else:
            times += scatter(rng, flows, topic, flood(rng, span_ns, service_ns))
    ticks = [None if d is None else int(d * _core.TICKS) for d in deadlines]
    shares = [_core.Share(rate=rate, virtual_deadline=d) for rate, d in zip(rates, ticks, strict=True)]
    workload = assemble(rng, shares, [service_ns] * topics, flows, times)
    return Case(workload, bounds, f"{rates=} {deadlines=} {service_ns=}")


def edf_case(seed: int) -> Case:
    """(E1), (E2): a feasible set of topics; those that keep their period meet D + (σ - 1) T."""
    rng = random.Random(seed)
    while True:
        topics = rng.randint(1, 5)
        tasks = [
            (c := rng.randint(1, 30), rng.randint(2, 12 * topics) * c, rng.randint(c, 20 * c + 100))
            for _ in range(topics)
        ]
        if edf.feasible(tasks):
            break
    flows = topic_flows(rng, topics)
    bounds: dict[int, Fraction] = {}
    times: list[tuple[int, int, int]] = []
    span_ns = 20 * max(period for _, period, _ in tasks)
    for topic, (service, period, _) in enumerate(tasks):
        if not bounds or rng.random() < 0.6:
            promise = Promise(burst_of(rng), Fraction(1, period))
            arrivals = promise.times(rng.randint(0, span_ns // 4), 25, pauses(rng, 2 * period))
            times += scatter(rng, flows, topic, arrivals)
            bound = edf.delay(tasks, topic, promise.burst)
            bounds |= {flow: bound for flow, (_, k, _) in enumerate(flows) if k == topic}
        else:
            times += scatter(rng, flows, topic, flood(rng, span_ns, service))
    shares = [_core.Share(period_ns=period, deadline_ns=deadline) for _, period, deadline in tasks]
    workload = assemble(rng, shares, [service for service, _, _ in tasks], flows, times)
    return Case(workload, bounds, f"{tasks=}")


def by_weight(shares: list[_core.Share], publishers: list[int], service_ns: list[int]) -> list[Fraction]:
    """Quanta of each topic: cells times clients."""
    quanta = [share.weight * count for share, count in zip(shares, publishers, strict=True)]
    return [Fraction(own, sum(quanta)) for own in quanta]


def by_rate(shares: list[_core.Share], publishers: list[int], service_ns: list[int]) -> list[Fraction]:
    total = sum(share.rate for share in shares)
    return [Fraction(share.rate, total) for share in shares]


def by_period(shares: list[_core.Share], publishers: list[int], service_ns: list[int]) -> list[Fraction]:
    rates = [Fraction(1, share.period_ns) for share in shares]
    return [rate / sum(rates) for rate in rates]


POLICIES = {
    "twrr": Policy(table_case(twrr.response), by_weight),
    "smooth": Policy(table_case(smooth.response), by_weight),
    "fair": Policy(fair_case, by_rate),
    "edf": Policy(edf_case, by_period),
}
