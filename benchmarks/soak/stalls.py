"""Which misses a stall of the machine explains: pure arithmetic on what the witnesses saw.

A stall is a stretch of time in which the machine withheld a processor for `ns`. A message that took longer
than its bound is explained if the stalls that overlap its life withheld at least as much as it was late. Two
witnesses may see the same stall: where stalls overlap, the time that passed counts once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple


class Stall(NamedTuple):
    """Somebody was to run from `start_ns` on and did not for `ns`, all of it before `end_ns`."""

    start_ns: int
    end_ns: int
    ns: int


class Stalls:
    """Stalls of one run, merged so that no two overlap."""

    def __init__(self, seen: Iterable[Stall]) -> None:
        self.merged = merged(sorted(seen))
        self._ends = [stall.end_ns for stall in self.merged]

    def _overlapping(self, start_ns: int, end_ns: int) -> Iterator[Stall]:
        for stall in islice(self.merged, bisect_left(self._ends, start_ns), None):
            if stall.start_ns > end_ns:
                return
            yield stall

    def within(self, start_ns: int, end_ns: int) -> int:
        """For how long processors were withheld between the two instants, at most."""
        return sum(stall.ns for stall in self._overlapping(start_ns, end_ns))

    def longest_within(self, start_ns: int, end_ns: int) -> int:
        """The longest stall that overlaps the time between the two instants."""
        return max((stall.ns for stall in self._overlapping(start_ns, end_ns)), default=0)

    @property
    def longest_ns(self) -> int:
        return max((stall.ns for stall in self.merged), default=0)


def merged(seen: Sequence[Stall]) -> list[Stall]:
    """Overlapping stalls as one, which withheld no more than all of them did, and than there was time."""
    result: list[Stall] = []
    for stall in seen:
        if result and stall.start_ns <= result[-1].end_ns:
            last = result.pop()
            end_ns = max(last.end_ns, stall.end_ns)
            stall = Stall(last.start_ns, end_ns, min(end_ns - last.start_ns, last.ns + stall.ns))
        result.append(stall)
    return result
