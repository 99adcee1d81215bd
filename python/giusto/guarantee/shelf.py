"""All promises to the lanes of one kind, turned round: how late the n-th message of any of them may be done.

A lane of burst σ and rate ρ keeps its promise if, for all n, completion(n) <= promise + ((n-σ)/ρ)^+. The
right side does not depend on anybody else, and the left side is the same for all lanes of one kind. So the
least right side for each n is kept, and a change of the bus is tested against these, not lane by lane.

The lanes of one topic have one promise. They are kept by themselves without it, as a bundle; on the shelf is
what matters of the bundle, each due later by the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

Completion = Callable[[int], int]
"""Latest completion of the n-th message, in ns."""


class Breach(NamedTuple):
    """Whose promise does not hold."""

    client: str
    topic: str


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

    @property
    def owner(self) -> Breach:
        """Whose it is."""
        return Breach(self.client, self.topic)

    def due_ns(self, n: int) -> int:
        """Promise + ((n-σ)/ρ)^+."""
        return self.promise_ns + self.arrival_ns(n)

    def worst(self, completion: Completion, line: Completion) -> tuple[int, int]:
        """The largest completion(n) - ((n-σ)/ρ)^+, and its n."""
        found = [(completion(n) - self.arrival_ns(n), n) for n in range(self.first, self.last + 1)]
        if self.has_tail:
            beyond = self.last + 1
            found.append((line(beyond) - self.arrival_ns(beyond), beyond))
        return max(found)


class Pile:
    """A number of each of many lanes, and which is the least; adding and removing cost next to nothing.

    What is removed stays in the heap until it comes to the top, or until it is most of the heap.
    """

    __slots__ = ("heap", "numbers")

    def __init__(self) -> None:
        self.numbers: dict[Breach, int] = {}
        self.heap: list[tuple[int, Breach]] = []

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def add(self, owner: Breach, number: int) -> None:
        """Of a lane that has none here."""
        self.numbers[owner] = number
        heappush(self.heap, (number, owner))
        if len(self.heap) > 2 * len(self.numbers) + SURPLUS:
            self.heap = [(kept, other) for other, kept in self.numbers.items()]
            heapify(self.heap)

    def remove(self, owner: Breach) -> None:
        """Of a lane that has one."""
        del self.numbers[owner]

    def least(self) -> tuple[int, Breach]:
        """The least number and whose it is; there must be one."""
        while True:
            number, owner = self.heap[0]
            if self.numbers.get(owner) == number:
                return number, owner
            heappop(self.heap)


Piles = dict[int, Pile]
"""Dues by n."""

SURPLUS = 16
"""Removed numbers that a heap may always keep."""


class Stair(NamedTuple):
    """The completion of the n-th message must not be later; whose promise that is."""

    n: int
    due_ns: int
    owner: Breach


class Shelf:
    """The dues of many lanes by n, and their rates."""

    def __init__(self) -> None:
        self.dues: Piles = {}
        self.tails: Piles = {}
        self.rates = Pile()
        self.known: tuple[list[Stair], list[Stair]] | None = None

    def __bool__(self) -> bool:
        return bool(self.rates)

    def hang(self, bundle: Shelf, promise_ns: int) -> None:
        """What matters of a bundle that does not change while it hangs here."""
        self.known = None
        rate, owner = bundle.rates.least()
        self.rates.add(owner, rate)
        for mine, theirs in zip((self.dues, self.tails), bundle.stairs, strict=True):
            for stair in theirs:
                put_in(mine, stair.n, stair.owner, promise_ns + stair.due_ns)

    def unhang(self, bundle: Shelf) -> None:
        """A bundle that hangs here."""
        self.known = None
        self.rates.remove(bundle.rates.least()[1])
        for mine, theirs in zip((self.dues, self.tails), bundle.stairs, strict=True):
            for stair in theirs:
                take_out(mine, stair.n, stair.owner)

    def add(self, lane: Lane) -> None:
        """One lane more."""
        owner = lane.owner
        self.known = None
        self.rates.add(owner, -lane.rate)
        for n in range(lane.first, lane.last + 1):
            put_in(self.dues, n, owner, lane.due_ns(n))
        if lane.has_tail:
            put_in(self.tails, lane.last + 1, owner, lane.due_ns(lane.last + 1))

    def remove(self, lane: Lane) -> None:
        """One lane less."""
        owner = lane.owner
        self.known = None
        self.rates.remove(owner)
        for n in range(lane.first, lane.last + 1):
            take_out(self.dues, n, owner)
        if lane.has_tail:
            take_out(self.tails, lane.last + 1, owner)

    def faster(self, rate_num: int, rate_den: int) -> Breach | None:
        """A lane that is faster than so many parts of ONE, if there is one."""
        rate, owner = self.rates.least()
        return owner if -rate * rate_den > rate_num else None

    @property
    def stairs(self) -> tuple[list[Stair], list[Stair]]:
        """The dues that matter, and those of the tails."""
        if self.known is None:
            self.known = stairs(self.dues), stairs(self.tails)
        return self.known

    def late(self, completion: Completion, line: Completion) -> Breach | None:
        """A lane that is done too late, if there is one."""
        near, far = self.stairs
        return first_late(near, completion) or first_late(far, line)

    def excess(self, completion: Completion, line: Completion) -> tuple[int, Breach]:
        """By how much a lane is done later than it is due, at most, and which; below 0 if it is earlier."""
        near, far = self.stairs
        return max(excess(found, done) for found, done in ((near, completion), (far, line)) if found)


def put_in(dues: Piles, n: int, owner: Breach, due_ns: int) -> None:
    """A lane that is not there."""
    pile = dues.get(n)
    if pile is None:
        pile = dues[n] = Pile()
    pile.add(owner, due_ns)


def take_out(dues: Piles, n: int, owner: Breach) -> None:
    """A lane that is there."""
    pile = dues[n]
    pile.remove(owner)
    if not pile:
        del dues[n]


def stairs(dues: Piles) -> list[Stair]:
    """The least due of each n, from the last one back; not those that a later message is due before.

    Completions never decrease with n: what is in time for a later message is so for an earlier one.
    """
    found: list[Stair] = []
    for n in sorted(dues, reverse=True):
        due_ns, owner = dues[n].least()
        if not found or due_ns < found[-1].due_ns:
            found.append(Stair(n, due_ns, owner))
    return found


def first_late(found: Iterable[Stair], completion: Completion) -> Breach | None:
    """The most impatient lane at some n where it is late, from the last n back.

    What is due after the completion of a later message is in time as well.
    """
    done_ns: int | None = None
    for stair in found:
        if done_ns is None or stair.due_ns < done_ns:
            done_ns = completion(stair.n)
            if done_ns > stair.due_ns:
                return stair.owner
    return None


def excess(found: Sequence[Stair], completion: Completion) -> tuple[int, Breach]:
    """The largest completion(n) - due; where even the last completion is early enough none is asked for."""
    latest_ns, first = completion(found[0].n), found[-1]
    best = completion(first.n) - first.due_ns, first.owner
    for stair in found:
        if latest_ns - stair.due_ns >= best[0]:
            best = max(best, (completion(stair.n) - stair.due_ns, stair.owner))
    return best
