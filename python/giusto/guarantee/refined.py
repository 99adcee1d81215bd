"""A work-conserving broker that knows all its flows: nobody else can use more quanta than they have messages.

(T4) lets every foreign quantum be full. If the (σ,ρ) of the other flows are known too, a queue that is
visited `visits` times in the window of length t can fill at most ⌊σ + ρ(t + D)⌋ of these quanta, where D
bounds how old a message can be when it is served, that is its own (T4); the other visits cost only the
search. The longest window is then a least fixed point, one for each cell of the table in which the backlog
may begin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import floor

from giusto.guarantee import envelope, exact, table, wrr
from giusto.guarantee.exact import Number


@dataclass(frozen=True, slots=True)
class Rival:
    """Another flow: when it is visited and how many of its messages can be there."""

    topic: int
    burst: Fraction
    rate: Fraction
    age: Fraction

    def used(self, visits: int, window: Fraction) -> int:
        """The most quanta it can fill in a window."""
        return min(visits, floor(self.burst + self.rate * (window + self.age)))


def refined_response(
    weights: Sequence[Number],
    flows: Sequence[Sequence[tuple[Number, Number]]],
    topic: int,
    client: int,
    quantum: Number,
    search: Number = 0,
) -> Fraction:
    """(T4), refined, for `flows[topic][client]`; flows[m][j] is the (burst, rate) of client j on topic m.

    Work conserving, one fragment per message. Never above `response`; raises `Overload` if any flow is above
    its service rate, since its messages could then be arbitrarily old.
    """
    order = wrr.cells(weights)
    exact.require_length("flows", flows, len(weights))
    for m, of_topic in enumerate(flows):
        exact.length(f"flows[{m}]", of_topic)
    topic = exact.index("topic", topic, len(flows))
    client = exact.index("client", client, len(flows[topic]))
    quanta = table.Quanta.checked(quantum, 1, True, search)
    rivals = {
        (m, j): rival(order, flows, m, j, quanta)
        for m, of_topic in enumerate(flows)
        for j in range(len(of_topic))
    }
    own = rivals.pop((topic, client))
    starts = [position for position, cell in enumerate(order) if cell == topic]

    def completion(start: int, n: int) -> Fraction:
        return window(visits(order, start, n), topic, list(rivals.values()), quanta)

    return max(
        envelope.worst(partial(completion, start), own.burst, own.rate, len(starts)) for start in starts
    )


def rival(
    order: Sequence[int],
    flows: Sequence[Sequence[tuple[Number, Number]]],
    m: int,
    j: int,
    quanta: table.Quanta,
) -> Rival:
    """One flow with its (T4)."""
    publishers = [len(of_topic) for of_topic in flows]
    exact.require_length(f"flows[{m}][{j}]", flows[m][j], 2)
    burst = exact.at_least_one(f"flows[{m}][{j}].burst", flows[m][j][0])
    rate = exact.nonnegative(f"flows[{m}][{j}].rate", flows[m][j][1])
    age = table.response(order, publishers, m, burst, rate, quanta.quantum, search=quanta.empty)
    return Rival(m, burst, rate, age)


def visits(order: Sequence[int], start: int, n: int) -> Counter[int]:
    """Cells of each topic from just after the cell at `start` to the n-th next cell of the same topic."""
    share = Counter(order)
    turns, rest = divmod(n, share[order[start]])
    seen = Counter({topic: turns * count for topic, count in share.items()})
    position = start
    while rest:
        position = (position + 1) % len(order)
        seen[order[position]] += 1
        rest -= order[position] == order[start]
    return seen


def window(seen: Counter[int], topic: int, rivals: Sequence[Rival], quanta: table.Quanta) -> Fraction:
    """Least t = n·quantum + search + Σ over the rivals of what they use and what their searches cost."""
    own = seen[topic] * quanta.quantum + quanta.empty
    length = own
    while True:
        longer = own
        for other in rivals:
            used = other.used(seen[other.topic], length)
            longer += used * quanta.quantum + (seen[other.topic] - used) * quanta.empty
        if longer == length:
            return length
        length = longer
