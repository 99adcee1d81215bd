"""What is wrong in S2 as printed: one test per row of the errata, with its counterexample."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, log

from bounds_simulation import greedy, polled_completions, seeds

from giusto.guarantee import edf, fair, polling

HALF = Fraction(1, 2)


def printed_wait(rates: list[Fraction], deadlines: list[Fraction], topic: int) -> int:
    """The waiting formula of section IV-E in units of 1/μ."""
    w = [min(d, 1 / r) for r, d in zip(rates, deadlines, strict=True)]
    return sum(ceil(w[topic] / other) for k, other in enumerate(w) if k != topic and other <= w[topic])


def test_errata_s2_intensity() -> None:
    service, arrival = Fraction(10_000), Fraction(250)
    printed = service / arrival
    assert printed == 40
    assert (1 / service) / (1 - printed) < 0, "a negative mean response"
    mean_ms = 1000 / service / (1 - arrival / service)
    assert round(float(mean_ms), 4) == 0.1026


def test_errata_s2_percentile() -> None:
    mean_ms = 1000 / (10_000 - 250)
    assert round(mean_ms * log(1000), 4) == 0.7085, "printed: 0.7"
    assert round(100 * (1 - exp(-0.7 / mean_ms)), 2) == 99.89, "printed: 99.9"


def test_errata_s2_polling() -> None:
    """Printed: the maximum is P, and μT/P > λ is enough."""
    window = {"period": Fraction(10), "budget": Fraction(4), "service": Fraction(1)}
    seen = polled_completions([Fraction(0)], **window)
    assert seen == [11]
    assert polling.response(1, Fraction(1, 10), **window) == 11
    small = {"period": Fraction(10), "budget": Fraction(4), "service": Fraction(5, 2)}
    rate = Fraction("0.15")
    assert small["budget"] / small["service"] / small["period"] > rate, "printed: stable"
    assert not polling.stable(rate, **small)
    arrivals = greedy(Fraction(1), rate, 200)
    done = polled_completions(arrivals, **small)
    late = [end - begin for end, begin in zip(done, arrivals, strict=True)]
    assert late[199] - late[99] > 300, "it goes on growing"
    assert late[99] - late[9] > 250


def test_errata_s2_waiting() -> None:
    # A short deadline is no short spacing: 100 messages printed, at most 2 of the other topic in truth.
    rates, deadlines = [Fraction(1), Fraction(1)], [Fraction(1), Fraction(1, 100)]
    assert printed_wait(rates, deadlines, 0) == 100
    assert fair.completion(rates, deadlines, 0, 1, 1) == 1 + 2
    # Topics of a longer deadline count too: 0 printed, 5 before it in truth.
    rates = [Fraction(10)] + [Fraction(1)] * 5
    deadlines = [Fraction(1, 10)] + [Fraction(1)] * 5
    assert printed_wait(rates, deadlines, 0) == 0
    assert fair.completion(rates, deadlines, 0, 1, 1) == 6
    epsilon = Fraction(1, 10**6)
    equal = [deadlines[0]] + [Fraction(1, 100)] * 5
    flood = [(0, k) for k in range(1, 6) for _ in range(3)]
    served = fair.order(rates, equal, [(epsilon, 0), *flood], 1, [1, 2, 3, 4, 5, 0])
    assert next(item.end for item in served if item.message == 0) == 6


def test_errata_s2_stability() -> None:
    """Printed: stable if the wait is below 1/r for every topic."""
    service = 1 / Fraction("1.5")
    assert printed_wait([Fraction(1)] * 2, [Fraction(1)] * 2, 0) * service < 1
    load = 2 * service
    assert load > 1
    assert not edf.feasible([(service, 1, 1)] * 2)

    def printed(tasks: list[tuple[int, int, int]]) -> bool:
        rates = [Fraction(1, period) for _, period, _ in tasks]
        deadlines = [Fraction(deadline) for _, _, deadline in tasks]
        return all(printed_wait(rates, deadlines, i) < period for i, (_, period, _) in enumerate(tasks))

    alerts = [(1, 100, 4)] * 3 + [(1, 5, 5)]
    assert not printed(alerts)
    assert edf.feasible(alerts)
    accepted_infeasible = 0
    for _, rng in seeds(600):
        tasks = []
        for _ in range(rng.randint(2, 5)):
            period = rng.randint(3, 30)
            tasks.append((1, period, rng.randint(1, period)))
        accepted_infeasible += printed(tasks) and not edf.feasible(tasks)
    assert accepted_infeasible > 0


def unchained_share(rates: list[Fraction], deadlines: list[Fraction], count: int) -> Fraction:
    """Everybody floods; "virtual time is advanced to the next deadline" and a deadline is v + d."""
    virtual = Fraction(0)
    finish = list(deadlines)
    first = 0
    for _ in range(count):
        taken = min(range(len(rates)), key=lambda k: finish[k])
        virtual = finish[taken]
        finish[taken] = virtual + deadlines[taken]
        first += taken == 0
    return Fraction(first, count)


def test_errata_s2_tag_rule_chained() -> None:
    rates, deadlines = [Fraction(2), Fraction(3)], [Fraction(1, 12), Fraction(1, 3)]
    assert abs(unchained_share(rates, deadlines, 1000) - Fraction(4, 5)) < Fraction(1, 100)
    flood = [(0, k) for k in (0, 1) for _ in range(300)]
    served = fair.order(rates, deadlines, flood, 1)[:300]
    assert abs(Fraction(sum(item.topic == 0 for item in served), 300) - Fraction(2, 5)) < Fraction(1, 100)


def test_errata_s2_tag_rule_reset() -> None:
    """Two alerts 100 apart, a flood half a service before the second one."""
    rates, deadlines = [Fraction(1), Fraction(10)], [Fraction("0.01"), Fraction("0.1")]
    arrivals = [(Fraction(0), 0), (Fraction(100), 0)] + [(100 - HALF, 1)] * 30
    served = fair.order(rates, deadlines, arrivals, 1)
    seen = next(item.end for item in served if item.message == 1) - 100
    assert seen == Fraction("1.5") <= fair.response(rates, deadlines, 0, 1, Fraction(1, 100), 1) == 2
    assert unreset_response(rates, deadlines) == Fraction("9.5")


def unreset_response(rates: list[Fraction], deadlines: list[Fraction]) -> Fraction:
    """The same arrivals when nothing is forgotten at idle; the second alert wins ties."""
    virtual = deadlines[0]
    alert = max(virtual, 1 / rates[0]) + deadlines[0]
    flood = virtual + deadlines[1]
    ahead = -1
    while flood < alert:
        flood += 1 / rates[1]
        ahead += 1
    return HALF + ahead + 1
