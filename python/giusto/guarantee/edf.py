"""The `edf` policy: real deadlines, served earliest deadline first without preemption.

A topic is a task (C, T, D): longest service, shortest separation 1/μ_i, relative deadline. The policy's
tags S = max(arrival, S_prev + T), F = S + D make every topic sporadic in S, also one that floods: a message
served before its S can only stand in for the demand that E1 counts for its topic anyway. So the test for
sporadic tasks is exact for topics too: the demand of all deadlines up to t, plus the longest message of a
later deadline that may just have started, must fit into t (E1). E2 replaces the demand by straight lines;
E3 gives the response itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from giusto.errors import Overload
from giusto.guarantee import exact
from giusto.guarantee.exact import Number


class Task(NamedTuple):
    """C, T, D of a topic, in one unit of time."""

    cost: Fraction
    period: Fraction
    deadline: Fraction

    @property
    def load(self) -> Fraction:
        """C/T."""
        return self.cost / self.period

    def demand(self, t: Fraction) -> Fraction:
        """Service that must be done within t of a release: all jobs with both ends inside."""
        return (
            Fraction(0) if t < self.deadline else (floor((t - self.deadline) / self.period) + 1) * self.cost
        )


Tasks = Sequence[tuple[Number, Number, Number]]


def checked(tasks: Tasks) -> list[Task]:
    """All three numbers of every task above 0."""
    exact.require_some("tasks", tasks)
    result = []
    for i, task in enumerate(tasks):
        exact.require_length(f"tasks[{i}]", task, 3)
        names = (f"tasks[{i}].cost", f"tasks[{i}].period", f"tasks[{i}].deadline")
        values = (exact.positive(name, value) for name, value in zip(names, task, strict=True))
        result.append(Task(*values))
    return result


def blocking(tasks: Sequence[Task], t: Fraction, unit: int) -> Fraction:
    """The longest message with a deadline beyond t, which may have started just before.

    In integer time (`unit` 1) it has started at least one unit before.
    """
    return max((task.cost - unit for task in tasks if task.deadline > t), default=Fraction(0))


def busy_period(tasks: Sequence[Task]) -> Fraction:
    """Length of the busy period that starts with one message of every topic; needs a load of at most 1."""
    length = sum((task.cost for task in tasks), Fraction(0))
    while (longer := sum((ceil(length / task.period) * task.cost for task in tasks), Fraction(0))) != length:
        length = longer
    return length


def horizon(tasks: Sequence[Task]) -> Fraction:
    """No t beyond it can fail E1 if none before it does.

    Beyond the last deadline nothing blocks and the demand is at most Ut + Σ U_i (T_i - D_i)^+; and what
    does not fit into t = busy period + x does not fit into x either.
    """
    load = sum(task.load for task in tasks)
    if load == 1:
        return busy_period(tasks)
    slack = sum((max(Fraction(0), task.period - task.deadline) * task.load for task in tasks), Fraction(0))
    beyond = max(slack / (1 - load), *(task.deadline for task in tasks))
    return min(beyond, busy_period(tasks))


def feasible(tasks: Tasks, integer_time: bool = False) -> bool:
    """(E1): whether no topic ever misses its deadline. Exact, for continuous or integer time."""
    return first_miss(tasks, integer_time) is None


def first_miss(tasks: Tasks, integer_time: bool = False) -> Fraction | None:
    """The least t at which (E1) fails, None if it never does; 0 if the load alone is too much."""
    given = checked(tasks)
    if exact.flag("integer_time", integer_time):
        for i, task in enumerate(given):
            for name, value in zip(task._fields, task, strict=True):
                exact.whole(f"tasks[{i}].{name}", value, 1)
    if sum(task.load for task in given) > 1:
        return Fraction(0)
    demand = Fraction(0)
    unit = 1 if integer_time else 0
    for t, costs in by_time(given, horizon(given)):
        demand += costs
        if demand + blocking(given, t, unit) > t:
            return t
    return None


def by_time(tasks: Sequence[Task], limit: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """The times D_i + mT_i up to `limit`, ascending, each once with the demand that it adds."""
    queue = [(task.deadline, i) for i, task in enumerate(tasks)]
    heapq.heapify(queue)
    while queue[0][0] <= limit:
        t = queue[0][0]
        added = Fraction(0)
        while queue[0][0] == t:
            i = queue[0][1]
            added += tasks[i].cost
            heapq.heapreplace(queue, (t + tasks[i].period, i))
        yield t, added


def feasible_fast(tasks: Tasks) -> bool:
    """(E2): sufficient for (E1), in O(N log N)."""
    given = sorted(checked(tasks), key=lambda task: task.deadline)
    if sum(task.load for task in given) > 1:
        return False
    longest_after = suffix_blocking(given)
    # Σ C_k (1 + (D - D_k)/T_k) = Σ C_k (1 - D_k/T_k) + D Σ C_k/T_k over the deadlines up to D.
    constant = load = Fraction(0)
    last = len(given) - 1
    for i, task in enumerate(given):
        constant += task.cost - task.deadline * task.load
        load += task.load
        if i < last and given[i + 1].deadline == task.deadline:
            continue
        if longest_after[i + 1] + constant + task.deadline * load > task.deadline:
            return False
    return True


def suffix_blocking(tasks: Sequence[Task]) -> list[Fraction]:
    """The largest cost among the tasks from each position on."""
    result = [Fraction(0)]
    for task in reversed(tasks):
        result.append(max(result[-1], task.cost))
    return result[::-1]


def response(tasks: Tasks, i: int) -> Fraction:
    """(E3): the worst response of task i, also where deadlines are missed; raises `Overload` above load 1."""
    given = checked(tasks)
    i = exact.index("i", i, len(given))
    load = sum(task.load for task in given)
    if load > 1:
        raise Overload(f"load {load} is above 1: no bound exists")
    own = given[i]
    limit = busy_period(given)
    releases = {Fraction(0)}
    releases.update(t - own.deadline for t, _ in by_time(given, limit + own.deadline) if t >= own.deadline)
    return max(own.cost + max(Fraction(0), start(given, i, release) - release) for release in releases)


def start(tasks: Sequence[Task], i: int, release: Fraction) -> Fraction:
    """L(a): the latest start of the message of task i released at a, after a busy period that starts at 0.

    A blocker has begun just before 0, so that everything behind it starts just before L: then what arrives at
    L itself is too late to go first.
    """
    own = tasks[i]
    due = release + own.deadline
    blocked = blocking(tasks, due, 0)
    fixed = blocked + floor(release / own.period) * own.cost
    others = [task for j, task in enumerate(tasks) if j != i and task.deadline <= due]
    length = Fraction(0)
    while True:
        longer = fixed
        for task in others:
            arrived = max(1, ceil(length / task.period)) if blocked else 1 + floor(length / task.period)
            longer += min(arrived, 1 + floor((due - task.deadline) / task.period)) * task.cost
        if longer == length:
            return length
        length = longer


def delay(tasks: Tasks, i: int, burst: Number) -> Fraction:
    """D_i + (σ-1)T_i: the bound of a (burst, rate <= 1/T_i) topic; `Overload` if the set fails (E1)."""
    given = checked(tasks)
    i = exact.index("i", i, len(given))
    bound = given[i].deadline + (exact.at_least_one("burst", burst) - 1) * given[i].period
    require_feasible(given)
    return bound


def require_feasible(tasks: Sequence[Task]) -> None:
    """(E1), which is looked at only where the quick test (E2) fails."""
    if feasible_fast(tasks):
        return
    miss = first_miss(tasks)
    if miss is None:
        return
    load = sum(task.load for task in tasks)
    reason = f"load {load} is above 1" if load > 1 else "the deadlines cannot all be kept"
    raise Overload(f"{reason}, first miss at {miss}: no bound exists")
