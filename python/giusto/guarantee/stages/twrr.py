"""`twrr`: (T2) and (T3) with cells of their real length, one function for all topics of one weight.

    t_c(n) = e + Σ_m C_m [ ⌊(n-1)/v⌋ v_m + (v_m - v)^+ + min( ((n-1) mod v) + 1, v_m ) ]

over all guarded topics m, the own one included (there the bracket is n); v = w/g, C_m is one quantum of each
client of m. (T2) does not depend on the order of the topics, so that only the sum of the C_m of each weight
matters. A weight that appears nowhere else only makes g smaller, and t_c larger.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate
from math import gcd

from giusto.guarantee.fixed import ceil_div
from giusto.guarantee.model import Setting
from giusto.guarantee.record import Record
from giusto.guarantee.stages.celled import Celled
from giusto.guarantee.stages.shelved import Curve
from giusto.guarantee.stages.weights import weight_of
from giusto.guarantee.stream import Stream


class Cells:
    """The sum of the cells of every weight, for all curves: what the topics up to a weight take."""

    def __init__(self, divisor: int, cells: Mapping[int, int], empty_ns: int) -> None:
        self.divisor = divisor
        self.empty_ns = empty_ns
        self.shares = sorted(weight // divisor for weight in cells)
        lengths = [cells[share * divisor] for share in self.shares]
        self.lengths = list(accumulate(lengths, initial=0))
        works = (share * ns for share, ns in zip(self.shares, lengths, strict=True))
        self.works = list(accumulate(works, initial=0))

    @property
    def cycle_ns(self) -> int:
        """Σ v C."""
        return self.works[-1]

    def until_ns(self, rounds: int) -> int:
        """Σ min(rounds, v) C."""
        place = bisect_right(self.shares, rounds)
        return self.works[place] + rounds * (self.lengths[-1] - self.lengths[place])


class Cycle(Curve):
    """t_c of one weight."""

    def __init__(self, weight: int, cells: Cells) -> None:
        self.own = weight // cells.divisor
        self.cells = cells
        self.cycle_ns = cells.cycle_ns
        self.start_ns = cells.empty_ns + self.cycle_ns - cells.until_ns(self.own)

    def work_ns(self, n: int) -> int:
        """(T3)."""
        turns, rest = divmod(n - 1, self.own)
        return turns * self.cycle_ns + self.start_ns + self.cells.until_ns(rest + 1)

    @cached_property
    def latency_ns(self) -> int:
        """T_k of (T5): within a cycle t_c bends only where a topic has had all of its cells.

        There it bends downwards, so that it is farthest above the slope of the cycle at one of the bends:
        the last one before which it still rises faster.
        """
        shares, lengths = self.cells.shares, self.cells.lengths
        low, high = 0, bisect_right(shares, self.own - 1)
        while low < high:
            place = (low + high) // 2
            rises = (lengths[-1] - lengths[place + 1]) * self.own > self.cycle_ns
            low, high = (place + 1, high) if rises else (low, place)
        return max(self.above_ns(1), self.above_ns(min(self.own, *shares[low : low + 1])))

    def above_ns(self, n: int) -> int:
        """How far t_c is above the slope of the cycle."""
        return ceil_div(self.work_ns(n) * self.own - (n - 1) * self.cycle_ns, self.own)

    def line_ns(self, n: int) -> int:
        """T_k + (n-1)/R_k."""
        return self.latency_ns + ceil_div((n - 1) * self.cycle_ns, self.own)


class Twrr(Celled[int]):
    """The sum of cells and the promises, by weight."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.sums: Counter[int] = Counter()
        self.topics: Counter[int] = Counter()
        self.lumps_ns = 0
        self.known: Cells | None = None

    def kind(self, record: Record) -> int:
        """Its weight."""
        return weight_of(record)

    def enter(self, record: Record) -> None:
        """One topic more."""
        self.topics[weight_of(record)] += 1
        self.sums[weight_of(record)] += 0
        self.known = None

    def leave(self, record: Record) -> None:
        """One topic less."""
        weight = weight_of(record)
        self.topics[weight] -= 1
        if self.topics[weight] == 0:
            del self.topics[weight], self.sums[weight]
        self.known = None

    def count(self, record: Record, cell_ns: int, lumps_ns: int) -> None:
        """In the sum of its weight."""
        self.sums[weight_of(record)] += cell_ns
        self.lumps_ns += lumps_ns
        self.known = None

    @property
    def cells(self) -> Cells:
        """As they are now."""
        if self.known is None:
            empty_ns = self.setting.costs.step.fixed_ns + self.lumps_ns
            self.known = Cells(gcd(*self.topics), self.sums, empty_ns)
        return self.known

    def curve(self, kind: int) -> Curve:
        """Of one weight."""
        return Cycle(kind, self.cells)

    def topic_share(self, record: Record) -> float:
        """w_k / Σ w."""
        total = sum(weight * topics for weight, topics in self.topics.items())
        return weight_of(record) / total

    def client_share(self, record: Record, stream: Stream) -> float:
        """One quantum in each cell of its topic."""
        total = sum(weight * ns for weight, ns in self.sums.items())
        return weight_of(record) * stream.quantum_ns / total
