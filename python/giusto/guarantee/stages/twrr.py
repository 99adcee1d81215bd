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
from giusto.guarantee.fixed import ONE, ceil_div
from giusto.guarantee.model import Setting
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Breach, Completion, Shelf
from giusto.guarantee.stages.stage import Response
from giusto.guarantee.stages.weights import cell_ns, check_weight, flow_lane, promised_lanes, weight_of
from giusto.guarantee.stream import Stream


class Cycle:
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

    def completions(self, delay: Delay, quanta: int) -> tuple[Completion, Completion]:
        """R(n) of messages of so many quanta, and the line above it."""
        fixed_ns, pace = delay.fixed_ns, delay.pace
        return (
            lambda n: pace.time_ns(fixed_ns + self.work_ns(n * quanta)),
            lambda n: pace.line_ns(fixed_ns + self.line_ns(n * quanta)),
        )

    def rate(self, delay: Delay, quanta: int) -> tuple[int, int]:
        """The rate in messages that a client is sure to get, as a fraction in parts of ONE."""
        left, whole = delay.pace.left
        return self.own * left * ONE, self.cycle_ns * quanta * whole


class Twrr:
    """The sum of cells and the promises, by weight."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.cells: Counter[int] = Counter()
        self.topics: Counter[int] = Counter()
        self.shelves: dict[tuple[int, int], Shelf] = {}

    def check(self, record: Record) -> None:
        """The weight."""
        check_weight(record)

    def put(self, record: Record) -> None:
        """One topic more."""
        weight = weight_of(record)
        self.cells[weight] += cell_ns(record)
        self.topics[weight] += 1
        for stream, lane in promised_lanes(record, self.setting):
            self.shelves.setdefault((weight, stream.quanta), Shelf()).add(lane)

    def drop(self, record: Record) -> None:
        """One topic less."""
        weight = weight_of(record)
        self.cells[weight] -= cell_ns(record)
        self.topics[weight] -= 1
        if self.topics[weight] == 0:
            del self.topics[weight], self.cells[weight]
        for stream, lane in promised_lanes(record, self.setting):
            shelf = self.shelves[weight, stream.quanta]
            shelf.remove(lane)
            if not shelf:
                del self.shelves[weight, stream.quanta]

    def cycle(self, weight: int) -> Cycle:
        """As it is now."""
        return Cycle(weight, gcd(*self.topics), self.cells, self.setting.costs.step.fixed_ns)

    def overloaded(self, delay: Delay) -> Breach | None:
        """ρF <= R_k, for the fastest flow of each kind."""
        for (weight, quanta), shelf in self.shelves.items():
            found = shelf.faster(*self.cycle(weight).rate(delay, quanta))
            if found is not None:
                return found
        return None

    def late(self, delay: Delay) -> Breach | None:
        """(T4), for the most impatient flow of each kind at each n."""
        for (weight, quanta), shelf in self.shelves.items():
            found = shelf.late(*self.cycle(weight).completions(delay, quanta))
            if found is not None:
                return found
        return None

    def response(self, record: Record, stream: Stream, delay: Delay) -> Response | None:
        """(T4) of one flow."""
        cycle = self.cycle(weight_of(record))
        lane = flow_lane(record, stream, self.setting)
        sure, each = cycle.rate(delay, stream.quanta)
        if lane.rate * each > sure:
            return None
        total_ns, n = lane.worst(*cycle.completions(delay, stream.quanta))
        work_ns = cycle.work_ns if n <= lane.last else cycle.line_ns
        return Response(total_ns, work_ns(n * stream.quanta), lane.arrival_ns(n), "T4")

    def topic_share(self, record: Record) -> float:
        """w_k / Σ w."""
        total = sum(weight * topics for weight, topics in self.topics.items())
        return weight_of(record) / total

    def client_share(self, record: Record, stream: Stream) -> float:
        """One quantum in each cell of its topic."""
        total = sum(weight * ns for weight, ns in self.cells.items())
        return weight_of(record) * stream.serve_ns / total
