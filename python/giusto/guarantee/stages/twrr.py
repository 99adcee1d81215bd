"""`twrr`: (T2) and (T3) with cells of their real length, one function for all topics of one weight.

    t_c(n) = e + Σ_m C_m [ ⌊(n-1)/v⌋ v_m + (v_m - v)^+ + min( ((n-1) mod v) + 1, v_m ) ]

over all guarded topics m, the own one included (there the bracket is n); v = w/g, C_m is one quantum of each
client of m. (T2) does not depend on the order of the topics, so that only the sum of the C_m of each weight
matters. A weight that appears nowhere else only makes g smaller, and t_c larger.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from math import gcd

from giusto.guarantee.blocking import Delay
from giusto.guarantee.fixed import ceil_div
from giusto.guarantee.model import Setting
from giusto.guarantee.record import Record
from giusto.guarantee.stages.shelved import Curve, Shelved
from giusto.guarantee.stages.stage import Response
from giusto.guarantee.stages.weights import (
    cell_ns,
    check_weight,
    flow_lane,
    lumps_ns,
    promised_lanes,
    weight_of,
)
from giusto.guarantee.stream import Stream


class Cycle(Curve):
    """t_c of one weight, from the sum of the cells of every weight."""

    def __init__(self, weight: int, divisor: int, cells: Counter[int], empty_ns: int) -> None:
        self.own = weight // divisor
        self.others = [(other // divisor, ns) for other, ns in cells.items()]
        self.cycle_ns = sum(v * ns for v, ns in self.others)
        self.start_ns = empty_ns + sum((v - self.own) * ns for v, ns in self.others if v > self.own)

    def work_ns(self, n: int) -> int:
        """(T3)."""
        turns, rest = divmod(n - 1, self.own)
        inner = sum(min(rest + 1, v) * ns for v, ns in self.others)
        return turns * self.cycle_ns + self.start_ns + inner

    @cached_property
    def latency_ns(self) -> int:
        """T_k of (T5): within a cycle t_c bends only where a topic has had all of its cells."""
        corners = {1, self.own} | {v for v, _ in self.others if v < self.own}
        return max(ceil_div(self.work_ns(n) * self.own - (n - 1) * self.cycle_ns, self.own) for n in corners)

    def line_ns(self, n: int) -> int:
        """T_k + (n-1)/R_k."""
        return self.latency_ns + ceil_div((n - 1) * self.cycle_ns, self.own)


class Twrr(Shelved[int]):
    """The sum of cells and the promises, by weight."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self.cells: Counter[int] = Counter()
        self.topics: Counter[int] = Counter()
        self.lumps_ns = 0

    def check(self, record: Record) -> None:
        """The weight."""
        check_weight(record)

    def put(self, record: Record) -> None:
        """One topic more."""
        weight = weight_of(record)
        self.cells[weight] += cell_ns(record)
        self.lumps_ns += lumps_ns(record)
        self.topics[weight] += 1
        for stream, lane in promised_lanes(record, self.setting):
            self.keep(weight, stream.quanta, lane)

    def drop(self, record: Record) -> None:
        """One topic less."""
        weight = weight_of(record)
        self.cells[weight] -= cell_ns(record)
        self.lumps_ns -= lumps_ns(record)
        self.topics[weight] -= 1
        if self.topics[weight] == 0:
            del self.topics[weight], self.cells[weight]
        for stream, lane in promised_lanes(record, self.setting):
            self.forget(weight, stream.quanta, lane)

    def curve(self, kind: int) -> Curve:
        """Of one weight."""
        return Cycle(kind, gcd(*self.topics), self.cells, self.setting.costs.step.fixed_ns + self.lumps_ns)

    def response(self, record: Record, stream: Stream, delay: Delay) -> Response | None:
        """(T4) of one flow."""
        lane = flow_lane(weight_of(record), 0, stream, self.setting)
        return self.curve(weight_of(record)).response(lane, delay, stream.quanta, "T4")

    def topic_share(self, record: Record) -> float:
        """w_k / Σ w."""
        total = sum(weight * topics for weight, topics in self.topics.items())
        return weight_of(record) / total

    def client_share(self, record: Record, stream: Stream) -> float:
        """One quantum in each cell of its topic."""
        total = sum(weight * ns for weight, ns in self.cells.items())
        return weight_of(record) * stream.quantum_ns / total
