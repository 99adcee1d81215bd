"""Worst waits and responses of any fixed cyclic table of cells.

(T3) and (T4) need nothing of weighted round robin except that the order of cells repeats. For any table the
longest run of n gaps is a maximum over the topic's cells; one pass over the table collects the gaps, and
their running sums give every run by one subtraction. The policies `twrr` and `smooth` are two such tables.

Assumptions (A1 - A6): one FIFO queue per client and topic; a cell gives each publishing client of its topic
one quantum, in a fixed order; a quantum serves at most one message or fragment, found at its start;
`quantum` bounds everything that is done in one quantum, `search` what an empty queue costs when the policy
does not keep the slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import sub

from giusto.errors import InvalidInput, Overload
from giusto.guarantee import envelope, exact
from giusto.guarantee.exact import Number


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps of one topic: `own` cells of `size` quanta each, and running sums of foreign quanta."""

    own: int
    size: int
    foreign: int
    sums: tuple[int, ...]

    def longest(self, n: int) -> int:
        """G(n): the most foreign quanta in n consecutive gaps, in O(own)."""
        turns, rest = divmod(n - 1, self.own)
        run = rest + 1
        most: int = max(map(sub, self.sums[run : run + self.own], self.sums))
        return turns * self.foreign + most

    @property
    def cycle(self) -> int:
        """Quanta in one cycle."""
        return self.foreign + self.own * self.size


def gaps(table: Sequence[Number], sizes: Sequence[Number], topic: int) -> Gaps:
    """Collect the gaps of `topic` in one pass over the table."""
    size = exact.wholes("sizes", sizes, 0)
    exact.require_some("table", table)
    order = [exact.index(f"table[{i}]", cell, len(size)) for i, cell in enumerate(table)]
    topic = exact.index("topic", topic, len(size))
    if topic not in order:
        raise InvalidInput("topic", topic, "a topic that has a cell in the table")
    first = order.index(topic)
    found = [0]
    for cell in order[first + 1 :] + order[:first]:
        if cell == topic:
            found.append(0)
        else:
            found[-1] += size[cell]
    sums = accumulate(found + found, initial=0)
    return Gaps(own=len(found), size=size[topic], foreign=sum(found), sums=tuple(sums))


def gap(table: Sequence[Number], sizes: Sequence[Number], topic: int, n: int) -> Fraction:
    """G(n) in quanta: the most foreign work in n consecutive gaps of `topic`; `sizes` in quanta per cell."""
    return Fraction(gaps(table, sizes, topic).longest(exact.whole("n", n, 1)))


@dataclass(frozen=True, slots=True)
class Quanta:
    """How long things last: a quantum, and a visit that finds nothing (`empty`, the e of A2)."""

    quantum: Fraction
    empty: Fraction
    fragments: int = 1

    @classmethod
    def checked(cls, quantum: Number, fragments: int, work_conserving: bool, search: Number) -> Quanta:
        """The values of a call; without work conservation an empty slot is kept, so it lasts a quantum."""
        length = exact.positive("quantum", quantum)
        skips = exact.flag("work_conserving", work_conserving)
        cost = exact.nonnegative("search", search)
        if cost > length:
            raise InvalidInput("search", search, f"at most the quantum, {length}")
        return cls(length, cost if skips else length, exact.whole("fragments", fragments, 1))

    def completion(self, foreign: int, own: int) -> Fraction:
        """(T3): the run of gaps, the own cells, and the visit that was just missed."""
        return (foreign + own) * self.quantum + self.empty


def require_rate(rate: Fraction, service_rate: Fraction) -> None:
    """The overload condition ρF <= R_k; `service_rate` is in messages."""
    if rate > service_rate:
        raise Overload(f"rate {rate} is above the guaranteed service rate {service_rate}: no bound exists")


def completion(
    table: Sequence[Number],
    publishers: Sequence[Number],
    topic: int,
    n: int,
    quantum: Number,
    work_conserving: bool = True,
    search: Number = 0,
) -> Fraction:
    """(T3): from the arrival that starts a backlog to the completion of the client's n-th message."""
    quanta = Quanta.checked(quantum, 1, work_conserving, search)
    found = published(table, publishers, topic)
    n = exact.whole("n", n, 1)
    return quanta.completion(found.longest(n), n * found.size)


def published(table: Sequence[Number], publishers: Sequence[Number], topic: int) -> Gaps:
    """The gaps of a topic that somebody publishes."""
    exact.wholes("publishers", publishers, 0)
    found = gaps(table, publishers, topic)
    if found.size == 0:
        raise InvalidInput(f"publishers[{topic}]", 0, "at least one publishing client")
    return found


def response(
    table: Sequence[Number],
    publishers: Sequence[Number],
    topic: int,
    burst: Number,
    rate: Number,
    quantum: Number,
    fragments: int = 1,
    work_conserving: bool = True,
    search: Number = 0,
) -> Fraction:
    """(T4): the worst response of one client's (burst, rate) flow; raises `Overload` where none exists.

    `rate` counts messages per unit of time of `quantum`; rate 0 is a single burst. Exact: the greedy flow
    attains it when every other quantum is used.
    """
    quanta = Quanta.checked(quantum, fragments, work_conserving, search)
    found = published(table, publishers, topic)
    flow_burst = exact.at_least_one("burst", burst)
    flow_rate = exact.nonnegative("rate", rate)
    require_rate(flow_rate, Fraction(found.own) / (found.cycle * quanta.quantum * quanta.fragments))

    def done(n: int) -> Fraction:
        served = n * quanta.fragments
        return quanta.completion(found.longest(served), served * found.size)

    return envelope.worst(done, flow_burst, flow_rate, found.own)
