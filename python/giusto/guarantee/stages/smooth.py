"""`smooth`: (T3) with the gaps of the actual table and cells of their real length, a function for each topic.

From the start of one cell of a topic to the start of its n-th next one the table has n own cells and n gaps,
so that t_c(n) = e + the most work between the starts of two cells that are n apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from math import gcd
from operator import sub
from typing import NamedTuple

from giusto.errors import InvalidInput
from giusto.guarantee import smooth
from giusto.guarantee.blocking import Delay
from giusto.guarantee.fixed import ONE, ceil_div
from giusto.guarantee.model import Setting
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Breach, Shelf, Stair, first_late
from giusto.guarantee.stages.ceiling import Ceiling
from giusto.guarantee.stages.celled import Celled
from giusto.guarantee.stages.shelved import Curve
from giusto.guarantee.stages.weights import weight_of
from giusto.guarantee.stream import Stream

CELLS_MAX = 1 << 17
"""In a cycle, as in the core."""
FEW = 64
"""So many promises are looked at each time."""
CEILINGS = 2
"""Of the table as it is, and as it would be with the change that is tried."""


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
        """T_k of (T5): the start of one cell is the earliest, and of another the latest, against the average.

        Of n own cells the most work is max_i (b_{i+n} - b_i), and the average is n/own of a cycle. Over all n
        that is the largest difference of two b_i - i/own cycles.
        """
        drift = [self.own * ns - i * self.cycle_ns for i, ns in enumerate(self.before[: self.own])]
        return ceil_div(self.own * self.empty_ns + self.cycle_ns + max(drift) - min(drift), self.own)

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


class Topic(NamedTuple):
    """What the table needs of a topic; `place` is its order in the data plane."""

    place: tuple[int, str]
    weight: int

    @classmethod
    def of(cls, record: Record) -> Topic:
        """From its share."""
        number = record.allotted.place if record.allotted else None
        return cls((-1 if number is None else number, record.name), weight_of(record))


class Table:
    """The cycle as it is now: the cells of each topic with the work before them."""

    def __init__(self, topics: Iterable[Topic], cells: dict[str, int], empty_ns: int) -> None:
        self.empty_ns = empty_ns
        order = sorted(topics)
        self.names = [topic.place[1] for topic in order]
        self.number = {name: i for i, name in enumerate(self.names)}
        table, self.cells = positions(tuple(topic.weight for topic in order))
        lengths = [cells[name] for name in self.names]
        self.before = list(accumulate(map(lengths.__getitem__, table), initial=0))
        self.known: dict[str, Places] = {}

    def measures(self, topic: str) -> tuple[int, int, int]:
        """Own cells in a cycle, the cycle, and what comes before, without a look at the cells."""
        return len(self.cells[self.number[topic]]), self.before[-1], self.empty_ns

    def places(self, topic: str) -> Places:
        """Of one topic."""
        found = self.known.get(topic)
        if found is None:
            before = list(map(self.before.__getitem__, self.cells[self.number[topic]]))
            found = self.known[topic] = Places(before, self.before[-1], self.empty_ns)
        return found


class Smooth(Celled[str]):
    """The guarded topics, and what was promised on each."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.topics: dict[str, Topic] = {}
        self.cells: dict[str, int] = {}
        self.lumps_ns = 0
        self.known: Table | None = None
        self.ceilings: list[Ceiling] = []

    def kind(self, record: Record) -> str:
        """Its name: each topic has cells of its own."""
        return record.name

    def enter(self, record: Record) -> None:
        """One topic more."""
        self.topics[record.name] = Topic.of(record)
        self.cells[record.name] = 0
        self.known = None

    def leave(self, record: Record) -> None:
        """One topic less."""
        del self.topics[record.name], self.cells[record.name]
        self.known = None

    def count(self, record: Record, cell_ns: int, lumps_ns: int) -> None:
        """In its own cell."""
        self.cells[record.name] += cell_ns
        self.lumps_ns += lumps_ns
        self.known = None

    @property
    def table(self) -> Table:
        """As it is now."""
        if self.known is None:
            empty_ns = self.setting.costs.step.fixed_ns + self.lumps_ns
            self.known = Table(self.topics.values(), self.cells, empty_ns)
        return self.known

    def curve(self, kind: str) -> Places:
        """Of one topic."""
        return self.table.places(kind)

    @property
    def effort(self) -> int:
        """A little for each topic, for most of them only now and then."""
        return ceil_div(len(self.shelves), 4)

    def put_up(self, record: Record) -> None:
        """What was sure of it has to be looked at again."""
        super().put_up(record)
        for ceiling in self.ceilings:
            ceiling.forget({(record.name, quanta) for quanta in self.bundles.get(record.name, ())})

    def unsure(self, delay: Delay) -> list[tuple[tuple[str, int], Shelf]]:
        """The promises that must be looked at."""
        if len(self.shelves) <= FEW:
            return list(self.shelves.items())
        ceiling = self.ceiling(delay)
        return [(place, shelf) for place, shelf in self.shelves.items() if not ceiling.is_sure(place, shelf)]

    def ceiling(self, delay: Delay) -> Ceiling:
        """One that the state is below: a new one if it has none."""
        table = self.table
        for ceiling in self.ceilings:
            if ceiling.covers(table, self.cells, delay):
                break
        else:
            ceiling = Ceiling(table, self.cells, delay)
            self.ceilings = [ceiling, *self.ceilings[: CEILINGS - 1]]
        return ceiling

    def overloaded(self, delay: Delay) -> Breach | None:
        """As for any policy, without a look at the cells."""
        left, whole = delay.pace.left
        for (topic, quanta), shelf in self.unsure(delay):
            own, cycle_ns, _ = self.table.measures(topic)
            found = shelf.faster(own * left * ONE, cycle_ns * quanta * whole)
            if found is not None:
                return found
        return None

    def late(self, delay: Delay) -> Breach | None:
        """As for any policy; cells are looked at only where a cycle more would be too late."""
        for (topic, quanta), shelf in self.unsure(delay):
            near, far = shelf.stairs
            found = self.late_on(topic, quanta, near, delay)
            if found is None and far:
                found = first_late(far, self.curve(topic).completions(delay, quanta)[1])
            if found is not None:
                return found
        return None

    def late_on(self, topic: str, quanta: int, near: Iterable[Stair], delay: Delay) -> Breach | None:
        """What `first_late` would find; n quanta never take longer than all cycles that they are in."""
        own, cycle_ns, empty_ns = self.table.measures(topic)
        done_ns: int | None = None
        for n, due_ns, owner in near:
            if done_ns is None or due_ns < done_ns:
                cycles = ceil_div(n * quanta, own)
                done_ns = delay.done_ns(empty_ns + cycles * cycle_ns)
                if done_ns > due_ns:
                    done_ns = delay.done_ns(self.curve(topic).work_ns(n * quanta))
                if done_ns > due_ns:
                    return owner
        return None

    def topic_share(self, record: Record) -> float:
        """w_k / Σ w."""
        return weight_of(record) / sum(topic.weight for topic in self.topics.values())

    def client_share(self, record: Record, stream: Stream) -> float:
        """One quantum in each cell of its topic."""
        places = self.curve(record.name)
        return places.own * stream.quantum_ns / places.cycle_ns
