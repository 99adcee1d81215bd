"""All promises to the lanes of one kind, turned round: how late the n-th message of any of them may be done.

A lane of burst σ and rate ρ keeps its promise if, for all n, completion(n) <= promise + ((n-σ)/ρ)^+. The
right side does not depend on anybody else, and the left side is the same for all lanes of one kind. So the
least right side for each n is kept, and a change of the bus is tested against these, not lane by lane.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import NamedTuple

Completion = Callable[[int], int]
"""Latest completion of the n-th message, in ns."""


class Lane(NamedTuple):
    """A queue of the input stage: whose it is, its rate in parts of ONE, and what was promised.

    The n-th message comes `arrival_ns(n)` after the start of a backlog at least. The completions from `first`
    to `last` are looked at one by one; if `has_tail`, the straight line above them stands for all later ones.
    """

    client: str
    topic: str
    first: int
    last: int
    has_tail: bool
    rate: int
    promise_ns: int
    arrival_ns: Completion

    def named(self, value: int) -> Entry:
        """Something of this lane."""
        return value, self.client, self.topic

    def due(self, n: int) -> Entry:
        """Promise + ((n-σ)/ρ)^+."""
        return self.named(self.promise_ns + self.arrival_ns(n))

    def worst(self, completion: Completion, line: Completion) -> tuple[int, int]:
        """The largest completion(n) - ((n-σ)/ρ)^+, and its n."""
        found = [(completion(n) - self.arrival_ns(n), n) for n in range(self.first, self.last + 1)]
        if self.has_tail:
            beyond = self.last + 1
            found.append((line(beyond) - self.arrival_ns(beyond), beyond))
        return max(found)


Entry = tuple[int, str, str]
"""A number, and the lane's client and topic."""


class Breach(NamedTuple):
    """Whose promise does not hold."""

    client: str
    topic: str


class Shelf:
    """The dues of many lanes, sorted, by n; and their rates."""

    def __init__(self) -> None:
        self.dues: dict[int, list[Entry]] = {}
        self.tails: dict[int, list[Entry]] = {}
        self.rates: list[Entry] = []

    def __bool__(self) -> bool:
        return bool(self.rates)

    def add(self, lane: Lane) -> None:
        """One lane more."""
        insort(self.rates, lane.named(lane.rate))
        for n in range(lane.first, lane.last + 1):
            insort(self.dues.setdefault(n, []), lane.due(n))
        if lane.has_tail:
            insort(self.tails.setdefault(lane.last + 1, []), lane.due(lane.last + 1))

    def remove(self, lane: Lane) -> None:
        """One lane less."""
        del self.rates[bisect_left(self.rates, lane.named(lane.rate))]
        for n in range(lane.first, lane.last + 1):
            take_out(self.dues, n, lane.due(n))
        if lane.has_tail:
            take_out(self.tails, lane.last + 1, lane.due(lane.last + 1))

    def faster(self, rate_num: int, rate_den: int) -> Breach | None:
        """A lane that is faster than so many parts of ONE, if there is one."""
        rate, client, topic = self.rates[-1]
        return Breach(client, topic) if rate * rate_den > rate_num else None

    def late(self, completion: Completion, line: Completion) -> Breach | None:
        """A lane that is done too late, if there is one."""
        return first_late(self.dues, completion) or first_late(self.tails, line)


def take_out(dues: dict[int, list[Entry]], n: int, due: Entry) -> None:
    """Remove one that is there."""
    found = dues[n]
    del found[bisect_left(found, due)]
    if not found:
        del dues[n]


def first_late(dues: dict[int, list[Entry]], completion: Completion) -> Breach | None:
    """The most impatient lane at some n where it is late.

    Completions never decrease with n, so that what is due after that of the largest n is in time as well.
    """
    doubtful = {n: found[0][0] for n, found in dues.items()}
    while doubtful:
        n = max(doubtful)
        done_ns = completion(n)
        if done_ns > doubtful[n]:
            return Breach(*dues[n][0][1:])
        doubtful = {other: due_ns for other, due_ns in doubtful.items() if due_ns < done_ns}
    return None
