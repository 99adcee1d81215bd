"""Which promises under `smooth` hold in any case for a while, so that they need not be looked at each time.

Every topic has a curve of its own there, so that a small change of one cell is a change of all curves. A
ceiling is a state of the table and of the delays that is a little worse than it is now. A promise that holds
under it holds for as long as the state stays below: work, and with it every completion, only grows with the
cells. n own quanta lie within ⌈n/v⌉ cycles, so that cells that grow by Σ v_m ΔC_m in a cycle add at most so
many times that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from giusto.guarantee.blocking import Delay
from giusto.guarantee.fixed import ONE, ceil_div
from giusto.guarantee.shelf import Shelf, first_late

if TYPE_CHECKING:
    from giusto.guarantee.stages.smooth import Table

CYCLE_PARTS = 64
QUANTUM_PARTS = 2
READING_PARTS = 64
LOAD_PARTS = 128
"""How much worse than now a ceiling is: by one of so many parts. One quantum is short among thousands."""
ROUNDING_NS = 2


class Ceiling:
    """A table and a delay, `spare_ns` more work in a cycle, and the shelves that hold under all that.

    `seen` are all that were looked at, `sure` those of them that hold.
    """

    def __init__(self, table: Table, cells: Mapping[str, int], delay: Delay) -> None:
        self.table = table
        self.lengths = dict(cells)
        self.delay = raised(delay)
        self.spare_ns = table.before[-1] // CYCLE_PARTS
        self.sure: set[tuple[str, int]] = set()
        self.seen: set[tuple[str, int]] = set()

    def covers(self, table: Table, cells: Mapping[str, int], delay: Delay) -> bool:
        """Whether the state is not worse."""
        if table.names != self.table.names or table.cells != self.table.cells:
            return False
        more_ns = max(0, table.empty_ns - self.table.empty_ns)
        for name, own_cells in zip(table.names, table.cells, strict=True):
            more_ns += max(0, cells[name] - self.lengths[name]) * len(own_cells)
        return more_ns <= self.spare_ns and is_below(delay, self.delay)

    def is_sure(self, place: tuple[str, int], shelf: Shelf) -> bool:
        """Whether a shelf holds even under this; looked at once for as long as it stays as it is."""
        if place not in self.seen:
            self.seen.add(place)
            if not self.is_fast(place, shelf) and self.is_early(place, shelf):
                self.sure.add(place)
        return place in self.sure

    def forget(self, places: set[tuple[str, int]]) -> None:
        """These shelves are others now."""
        self.seen -= places
        self.sure -= places

    def is_fast(self, place: tuple[str, int], shelf: Shelf) -> bool:
        """Whether a lane might bring more than is sure."""
        own, cycle_ns, _ = self.table.measures(place[0])
        left, whole = self.delay.pace.left
        if left <= 0:
            return True
        return shelf.faster(own * left * ONE, (cycle_ns + self.spare_ns) * place[1] * whole) is not None

    def is_early(self, place: tuple[str, int], shelf: Shelf) -> bool:
        """Whether all lanes are done in time."""
        (topic, quanta), delay, spare_ns = place, self.delay, self.spare_ns
        own, cycle_ns, empty_ns = self.table.measures(topic)
        near, far = shelf.stairs
        if far and far[-1].n * quanta < own:
            # Before the end of a cycle the line does not only grow with the cells.
            return False
        latest_ns: int | None = None
        for n, due_ns, _ in near:
            if latest_ns is None or due_ns < latest_ns:
                cycles = ceil_div(n * quanta, own)
                latest_ns = delay.done_ns(empty_ns + cycles * (cycle_ns + spare_ns))
                if latest_ns > due_ns:
                    work_ns = self.table.places(topic).work_ns(n * quanta)
                    latest_ns = delay.done_ns(work_ns + cycles * spare_ns)
                if latest_ns > due_ns:
                    return False
        return first_late(far, lambda n: self.line_ns(topic, n * quanta)) is None

    def line_ns(self, topic: str, n: int) -> int:
        """The line above the completions of a topic, n quanta being a cycle or more."""
        own, _, _ = self.table.measures(topic)
        more_ns = (1 + ceil_div(n, own)) * self.spare_ns + ROUNDING_NS
        return self.delay.line_ns(self.table.places(topic).line_ns(n) + more_ns)


def raised(delay: Delay) -> Delay:
    """A little more of everything, and a little less time."""
    pace = delay.pace
    return replace(
        delay,
        entry_ns=delay.entry_ns + delay.entry_ns // QUANTUM_PARTS,
        exit_ns=delay.exit_ns + delay.exit_ns // QUANTUM_PARTS,
        reading_ns=delay.reading_ns + delay.reading_ns // READING_PARTS,
        pace=replace(
            pace,
            reading=pace.reading + (ONE - pace.reading) // LOAD_PARTS,
            window_ns=pace.window_ns - pace.window_ns // LOAD_PARTS,
        ),
    )


def is_below(delay: Delay, other: Delay) -> bool:
    """Whether nothing takes longer, part by part."""
    return (
        delay.entry_ns <= other.entry_ns
        and delay.exit_ns <= other.exit_ns
        and delay.reading_ns <= other.reading_ns
        and delay.stall_ns <= other.stall_ns
        and delay.pace.reading <= other.pace.reading
        and delay.pace.period_ns == other.pace.period_ns
        and delay.pace.window_ns >= other.pace.window_ns
    )
