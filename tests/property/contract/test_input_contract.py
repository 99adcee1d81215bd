"""The contract suite: what every input policy must do, over thousands of generated workloads.

A failure names its seed: `GIUSTO_SEED=<seed> GIUSTO_CASES=0 pytest tests/property/contract` replays it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction

import pytest

from giusto import _core
from policies import POLICIES
from seeds import seeds
from workload import Workload, any_workload, backlog, shares

NAMES = [name for name, _ in _core.input_policies()]
pytestmark = pytest.mark.parametrize("policy", NAMES)


def test_order_is_kept_within_publisher_topic_and_priority(policy: str) -> None:
    for seed in seeds(500):
        workload = any_workload(seed)
        seen: dict[tuple[int, int], int] = defaultdict(lambda: -1)
        for arrival, _, _ in workload.serve(policy).completions:
            _, flow, priority, _ = workload.arrivals[arrival]
            assert arrival > seen[flow, priority], f"{seed=}"
            seen[flow, priority] = arrival


def test_nothing_is_lost_and_nothing_is_duplicated(policy: str) -> None:
    for seed in seeds(500):
        workload = any_workload(seed, capacity=random.Random(seed).choice([3, None]))
        run = workload.serve(policy)
        done = [arrival for arrival, _, _ in run.completions]
        assert sorted(done + run.overflow) == list(range(len(workload.arrivals))), f"{seed=}"


def test_capacity_is_respected_and_used(policy: str) -> None:
    for seed in seeds(500):
        workload = any_workload(seed, capacity=4)
        run = workload.serve(policy)
        selected = {arrival: at_ns for arrival, at_ns, _ in run.completions}
        for refused, waiting in waiting_at_arrival(workload, selected):
            flow = workload.arrivals[refused][1]
            is_full = waiting >= workload.flows[flow][2]
            assert is_full == (refused in run.overflow), f"{seed=} arrival {refused}"


def waiting_at_arrival(workload: Workload, selected: dict[int, int]) -> list[tuple[int, int]]:
    """For each arrival, how many of its flow were waiting when it came.

    A quantum that begins at the instant of an arrival comes after it, unless the run is service
    first and the server was busy: then only what was selected strictly earlier is certain.
    """
    result = []
    for arrival, (at_ns, flow, _, _) in enumerate(workload.arrivals):
        earlier = [n for n in range(arrival) if workload.arrivals[n][1] == flow and n in selected]
        if workload.service_first and any(selected[n] == at_ns for n in earlier):
            continue
        result.append((arrival, sum(1 for n in earlier if selected[n] >= at_ns)))
    return result


def test_work_is_conserved(policy: str) -> None:
    for seed in seeds(500):
        workload = any_workload(seed)
        run = workload.serve(policy)
        ends = busy_ends(workload)
        assert run.busy_ns == sum(map(workload.work_ns, range(len(workload.arrivals)))), f"{seed=}"
        assert max(at_ns for _, _, at_ns in run.completions) == ends[-1][1], f"{seed=}"
        for start_ns, end_ns in ends:
            inside = [a for a, _, at_ns in run.completions if start_ns < at_ns <= end_ns]
            assert sum(map(workload.work_ns, inside)) == end_ns - start_ns, f"{seed=}"


def busy_ends(workload: Workload) -> list[tuple[int, int]]:
    """Busy periods (start, end): the same for every policy that never idles while work waits."""
    periods: list[tuple[int, int]] = []
    for arrival, (at_ns, *_) in enumerate(workload.arrivals):
        if periods and at_ns <= periods[-1][1]:
            periods[-1] = (periods[-1][0], periods[-1][1] + workload.work_ns(arrival))
        else:
            periods.append((at_ns, at_ns + workload.work_ns(arrival)))
    return periods


def test_shares_converge_to_the_allotment_under_saturation(policy: str) -> None:
    for seed in seeds(60):
        rng = random.Random(seed)
        topics = rng.randint(1, 5)
        publishers = [rng.randint(1, 3) for _ in range(topics)]
        workload = backlog(shares(rng, topics), [10] * topics, publishers, 600)
        allotted = POLICIES[policy].allotment(workload.shares, publishers, workload.service_ns)
        served = served_while_all_wait(workload, policy)
        for own, share in zip(served, allotted, strict=True):
            assert abs(Fraction(own, sum(served)) - share) < Fraction(1, 10), f"{seed=} {served=} {allotted=}"


def served_while_all_wait(workload: Workload, policy: str) -> list[int]:
    """Messages per topic until the first flow runs empty."""
    waiting = [600] * len(workload.flows)
    served = [0] * len(workload.shares)
    for arrival, _, _ in workload.serve(policy).completions:
        flow = workload.arrivals[arrival][1]
        waiting[flow] -= 1
        served[workload.flows[flow][1]] += 1
        if waiting[flow] == 0:
            break
    return served


def test_no_delay_exceeds_the_bound(policy: str) -> None:
    closest = Fraction(0)
    for seed in seeds(1_000):
        case = POLICIES[policy].case(seed)
        workload = case.workload
        for arrival, _, completed_ns in workload.serve(policy).completions:
            at_ns, flow, _, _ = workload.arrivals[arrival]
            if flow in case.bounds:
                delay_ns = completed_ns - at_ns
                assert delay_ns <= case.bounds[flow], (
                    f"{seed=} {flow=} {delay_ns=} {case.bounds[flow]=} {case.note}"
                )
                closest = max(closest, delay_ns / case.bounds[flow])
    assert closest > Fraction(1, 2), "the workloads never came near a bound: they prove nothing"
