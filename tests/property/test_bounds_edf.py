"""(E1) - (E3) against non-preemptive earliest deadline first, in exact time."""

from __future__ import annotations

import random
from fractions import Fraction

from bounds_simulation import Job, edf_completions, seeds

from giusto.guarantee import edf

EPSILON = Fraction(1, 1000)
Tasks = list[tuple[int, int, int]]


def random_tasks(rng: random.Random) -> Tasks:
    tasks = []
    for _ in range(rng.randint(1, 4)):
        cost = rng.randint(1, 4)
        period = rng.randint(cost, 24)
        tasks.append((cost, period, rng.randint(cost, 28)))
    return tasks


def load(tasks: Tasks) -> Fraction:
    return sum((Fraction(cost, period) for cost, period, _ in tasks), Fraction(0))


def periodic(tasks: Tasks, i: int, begin: Fraction, until: Fraction, rank: int) -> list[Job]:
    cost, period, deadline = tasks[i]
    count = max(0, -((begin - until) // period))
    return [
        Job(begin + n * period, begin + n * period + deadline, Fraction(cost), rank, i)
        for n in range(int(count))
    ]


def random_jobs(rng: random.Random, tasks: Tasks, until: int, grain: int) -> list[Job]:
    jobs = []
    for i, (cost, period, deadline) in enumerate(tasks):
        time = Fraction(rng.choice([0, 0, rng.randint(0, 8 * grain)]), grain)
        while time < until:
            jobs.append(Job(time, time + deadline, Fraction(cost), rng.randrange(4), i))
            time += period + (Fraction(rng.randint(0, 6 * grain), grain) if rng.random() < 0.25 else 0)
    return jobs


def missed(jobs: list[Job]) -> bool:
    return any(end > job.deadline for job, end in edf_completions(jobs))


def synchronous_after_blocker(tasks: Tasks, t: Fraction, head_start: Fraction) -> list[Job]:
    """The worst case of (E1) at t: the longest later deadline starts just before everything else at 0."""
    later = [i for i, task in enumerate(tasks) if task[2] > t]
    jobs = []
    if later:
        blocker = max(later, key=lambda i: tasks[i][0])
        jobs.append(
            Job(-head_start, -head_start + tasks[blocker][2], Fraction(tasks[blocker][0]), 0, blocker)
        )
    for i, task in enumerate(tasks):
        if task[2] <= t:
            jobs += periodic(tasks, i, Fraction(0), t - task[2] + Fraction(1, 2), 0)
    return jobs


def test_e1_accepts_only_sets_that_never_miss_and_rejects_only_sets_that_can() -> None:
    accepted = rejected = 0
    for seed, rng in seeds(700):
        tasks = random_tasks(rng)
        message = f"GIUSTO_SEED={seed} {tasks}"
        failing = edf.first_miss(tasks)
        assert edf.feasible(tasks) == (failing is None)
        if failing is None:
            accepted += 1
            for _ in range(3):
                assert not missed(random_jobs(rng, tasks, 150, 4)), message
            for t in {Fraction(task[2]) for task in tasks}:
                assert not missed(synchronous_after_blocker(tasks, t, EPSILON)), message
        elif load(tasks) <= 1:
            rejected += 1
            assert missed(synchronous_after_blocker(tasks, failing, EPSILON)), message
        else:
            late = 30 + 30 / (load(tasks) - 1)
            assert missed(
                [job for i in range(len(tasks)) for job in periodic(tasks, i, Fraction(0), late, 0)]
            )
    assert accepted > 10
    assert rejected > 10


def test_e1_in_integer_time_gives_the_blocker_a_head_start_of_one() -> None:
    differ = 0
    for seed, rng in seeds(500):
        tasks = random_tasks(rng)
        message = f"GIUSTO_SEED={seed} {tasks}"
        failing = edf.first_miss(tasks, integer_time=True)
        differ += (failing is None) != edf.feasible(tasks)
        if failing is None:
            for _ in range(3):
                assert not missed(random_jobs(rng, tasks, 150, 1)), message
        elif load(tasks) <= 1:
            assert missed(synchronous_after_blocker(tasks, failing, Fraction(1))), message
    assert differ > 0


def test_e1_looks_far_enough() -> None:
    """A sweep far beyond the horizon finds nothing that the horizon has cut off."""
    for seed, rng in seeds(300):
        tasks = random_tasks(rng)
        if load(tasks) <= 1:
            given = edf.checked(tasks)
            far = all(
                sum(task.demand(Fraction(t)) for task in given) + edf.blocking(given, Fraction(t), 0) <= t
                for t in range(min(task[2] for task in tasks), 400)
            )
            assert edf.feasible(tasks) == far, f"GIUSTO_SEED={seed} {tasks}"


def test_e2_accepts_a_part_of_what_e1_accepts() -> None:
    fast = exact = 0
    for seed, rng in seeds(1500):
        tasks = random_tasks(rng)
        exact += edf.feasible(tasks)
        if edf.feasible_fast(tasks):
            fast += 1
            assert edf.feasible(tasks), f"GIUSTO_SEED={seed} {tasks}"
    assert exact / 2 < fast <= exact


def worst_pattern(tasks: Tasks, i: int, release: Fraction) -> list[Job]:
    """Everything that may go before the message of task i released at `release`; task i loses all ties."""
    due = release + tasks[i][2]
    later = [j for j, task in enumerate(tasks) if task[2] > due]
    jobs = []
    if later:
        blocker = max(later, key=lambda j: tasks[j][0])
        jobs.append(Job(-EPSILON, tasks[blocker][2] - EPSILON, Fraction(tasks[blocker][0]), 0, blocker))
    for j, task in enumerate(tasks):
        if j != i and task[2] <= due:
            jobs += periodic(tasks, j, Fraction(0), due - task[2] + Fraction(1, 2), 0)
    first = release - (release // tasks[i][1]) * tasks[i][1]
    return jobs + periodic(tasks, i, first, release + Fraction(1, 2), 1)


def observed(jobs: list[Job], i: int) -> Fraction:
    return max(
        (end - job.release for job, end in edf_completions(jobs) if job.task == i), default=Fraction(0)
    )


def test_e3_is_attained_and_never_exceeded() -> None:
    for seed, rng in seeds(250):
        tasks = random_tasks(rng)
        if load(tasks) > 1:
            continue
        i = rng.randrange(len(tasks))
        bound = edf.response(tasks, i)
        message = f"GIUSTO_SEED={seed} {tasks} task {i}"
        for _ in range(3):
            assert observed(random_jobs(rng, tasks, 120, 4), i) <= bound, message
        limit = edf.busy_period(edf.checked(tasks))
        seen = max(observed(worst_pattern(tasks, i, Fraction(a)), i) for a in range(int(limit) + 1))
        assert bound - EPSILON <= seen <= bound, message


def test_e3_agrees_with_e1() -> None:
    for seed, rng in seeds(400):
        tasks = random_tasks(rng)
        if load(tasks) <= 1:
            met = all(edf.response(tasks, i) <= task[2] for i, task in enumerate(tasks))
            assert met == edf.feasible(tasks), f"GIUSTO_SEED={seed} {tasks}"


def tagged(tasks: Tasks, arrivals: list[tuple[Fraction, int]]) -> list[tuple[Job, Fraction]]:
    """Real-time tags S = max(arrival, S_prev + T), F = S + D; each topic first in, first out."""
    last: dict[int, Fraction] = {}
    jobs = []
    for time, i in sorted(arrivals):
        cost, period, deadline = tasks[i]
        start = max(time, last[i] + period) if i in last else time
        last[i] = start
        jobs.append(Job(time, start + deadline, Fraction(cost), i, i))
    return edf_completions(jobs)


def test_real_time_tags_keep_every_promise_while_topics_flood() -> None:
    closest = Fraction(0)
    for seed, rng in seeds(300):
        tasks = random_tasks(rng)
        if not edf.feasible(tasks):
            continue
        arrivals = []
        for i, _ in enumerate(tasks):
            for _ in range(rng.randint(1, 4)):
                arrivals += [(Fraction(rng.randint(0, 300), 4), i)] * rng.randint(1, 12)
        for job, end in tagged(tasks, arrivals):
            closest = max(closest, (end - job.release) / (job.deadline - job.release))
            assert end <= job.deadline, f"GIUSTO_SEED={seed} {tasks}"
    assert closest > Fraction(1, 2)


def test_a_burst_is_late_by_its_spacing_only() -> None:
    for seed, rng in seeds(150):
        tasks = random_tasks(rng)
        if not edf.feasible(tasks):
            continue
        i, burst = rng.randrange(len(tasks)), rng.randint(1, 5)
        bound = edf.delay(tasks, i, burst)
        arrivals = [(Fraction(n * tasks[i][1]), i) for n in range(6)]
        arrivals += [(Fraction(0), i)] * (burst - 1)
        arrivals += [(Fraction(rng.randint(0, 60)), j) for j in range(len(tasks)) if j != i for _ in range(8)]
        for job, end in tagged(tasks, arrivals):
            if job.task == i:
                assert end - job.release <= bound, f"GIUSTO_SEED={seed} {tasks} task {i} burst {burst}"
