"""`smooth`: (T3) with the gaps of the actual table and cells of their real length, a function for each topic.

From the start of one cell of a topic to the start of its n-th next one the table has n own cells and n gaps,
so that t_c(n) = e + the most work between the starts of two cells that are n apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from math import gcd
from operator import sub
from typing import NamedTuple

from giusto.errors import InvalidInput
from giusto.guarantee import smooth
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

CELLS_MAX = 1 << 17
"""In a cycle, as in the core."""


class Places(Curve):
    """The cells of one topic: the work before each of them, for two cycles."""

    def __init__(self, before: Sequence[int], cycle_ns: int, empty_ns: int) -> None:
        self.before = [*before, *(ns + cycle_ns for ns in before)]
        self.own = len(before)
        self.cycle_ns = cycle_ns
        self.empty_ns = empty_ns

    def work_ns(self, n: int) -> int:
        """(T3)."""
        turns, rest = divmod(n - 1, self.own)
        longest: int = max(map(sub, islice(self.before, rest + 1, rest + 1 + self.own), self.before))
        return self.empty_ns + turns * self.cycle_ns + longest

    @cached_property
    def latency_ns(self) -> int:
        """T_k of (T5)."""
        excess = max(self.work_ns(n) * self.own - (n - 1) * self.cycle_ns for n in range(1, self.own + 1))
        return ceil_div(excess, self.own)

    def line_ns(self, n: int) -> int:
        """T_k + (n-1)/R_k."""
        return self.latency_ns + ceil_div((n - 1) * self.cycle_ns, self.own)


@lru_cache(maxsize=4)
def positions(weights: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The table, and the cells of each topic in it."""
    divisor = gcd(*weights)
    cells, efforts = sum(weights) // divisor, len(set(weights))
    if cells > CELLS_MAX or cells * efforts > smooth.EFFORT_MAX:
        raise InvalidInput("share.weight", f"{cells} cells", f"at most {CELLS_MAX} cells in a cycle")
    table = smooth.spread(tuple(weight // divisor for weight in weights))
    found: list[list[int]] = [[] for _ in weights]
    for cell, topic in enumerate(table):
        found[topic].append(cell)
    return table, tuple(map(tuple, found))


class Table:
    """The cycle as it is now: the cells of each topic with the work before them."""

    def __init__(self, topics: Mapping[str, Topic], empty_ns: int) -> None:
        self.empty_ns = empty_ns + sum(topic.lumps_ns for topic in topics.values())
        order = sorted(topics, key=lambda name: topics[name].place)
        self.number = {name: i for i, name in enumerate(order)}
        table, self.cells = positions(tuple(topics[name].weight for name in order))
        lengths = [topics[name].cell_ns for name in order]
        self.before = list(accumulate((lengths[topic] for topic in table), initial=0))
        self.known: dict[str, Places] = {}

    def places(self, topic: str) -> Places:
        """Of one topic."""
        found = self.known.get(topic)
        if found is None:
            before = [self.before[cell] for cell in self.cells[self.number[topic]]]
            found = self.known[topic] = Places(before, self.before[-1], self.empty_ns)
        return found


class Topic(NamedTuple):
    """What the table needs of a topic; `place` is its order in the data plane."""

    place: tuple[int, str]
    weight: int
    cell_ns: int
    lumps_ns: int

    @classmethod
    def of(cls, record: Record) -> Topic:
        """From its share and its flows."""
        number = record.allotted.place if record.allotted else None
        place = (-1 if number is None else number, record.name)
        return cls(place, weight_of(record), cell_ns(record), lumps_ns(record))


class Smooth(Shelved[str]):
    """The guarded topics, and what was promised on each."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self.topics: dict[str, Topic] = {}
        self.known: Table | None = None

    def check(self, record: Record) -> None:
        """The weight."""
        check_weight(record)

    def put(self, record: Record) -> None:
        """One topic more."""
        self.topics[record.name] = Topic.of(record)
        self.known = None
        for stream, lane in promised_lanes(record, self.setting):
            self.keep(record.name, stream.quanta, lane)

    def drop(self, record: Record) -> None:
        """One topic less."""
        del self.topics[record.name]
        self.known = None
        for stream, lane in promised_lanes(record, self.setting):
            self.forget(record.name, stream.quanta, lane)

    @property
    def table(self) -> Table:
        """As it is now."""
        if self.known is None:
            self.known = Table(self.topics, self.setting.costs.step.fixed_ns)
        return self.known

    def curve(self, kind: str) -> Places:
        """Of one topic."""
        return self.table.places(kind)

    def response(self, record: Record, stream: Stream, delay: Delay) -> Response | None:
        """(T4) of one flow."""
        lane = flow_lane(weight_of(record), 0, stream, self.setting)
        return self.curve(record.name).response(lane, delay, stream.quanta, "T4")

    def topic_share(self, record: Record) -> float:
        """w_k / Σ w."""
        return weight_of(record) / sum(topic.weight for topic in self.topics.values())

    def client_share(self, record: Record, stream: Stream) -> float:
        """One quantum in each cell of its topic."""
        places = self.curve(record.name)
        return places.own * stream.quantum_ns / places.cycle_ns
