"""In which order all candidates are measured, and what many short rounds say together.

The machine is shared and its stalls come and go. So everybody is measured for a short time, again and
again, in turn; a ratio is taken within each round, and the middle one of all rounds counts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks.peers.measures import Line


@dataclass(frozen=True, slots=True)
class Job:
    """One candidate in one measure."""

    measure: str
    peer: str
    run: Callable[[], Line]


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of all rounds, the lowest and the highest."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        found = list(values)
        return cls(statistics.median(found), min(found), max(found)) if found else None


@dataclass(slots=True)
class Rounds:
    """Every line of every round: by measure, by peer, one line for each round."""

    lines: dict[str, dict[str, list[Line]]] = field(default_factory=dict)

    def add(self, job: Job, line: Line) -> None:
        self.lines.setdefault(job.measure, {}).setdefault(job.peer, []).append(line)

    def peers(self, measure: str) -> list[str]:
        """Who was measured, without those who failed in every round."""
        measured = self.lines.get(measure, {})
        return [peer for peer, lines in measured.items() if any("error" not in line for line in lines)]

    def failures(self, measure: str, peer: str) -> list[str]:
        """Why rounds have no figures."""
        return [str(line["error"]) for line in self.lines.get(measure, {}).get(peer, []) if "error" in line]

    def spread(self, measure: str, peer: str, name: str) -> Spread | None:
        """One figure over all rounds."""
        return Spread.of(value for value in self._values(measure, peer, name) if value is not None)

    def ratio(self, over: tuple[str, str, str], under: tuple[str, str, str]) -> Spread | None:
        """One figure over another, each named by measure, peer and name, within each round."""
        pairs = zip(self._values(*over), self._values(*under), strict=False)
        return Spread.of(above / below for above, below in pairs if above is not None and below)

    def best(self, measure: str, name: str, peers: Iterable[str]) -> str | None:
        """Of these peers, the one with the lowest middle."""
        found = {peer: self.spread(measure, peer, name) for peer in peers}
        middles = {peer: spread.middle for peer, spread in found.items() if spread is not None}
        return min(middles, key=middles.__getitem__, default=None)

    def count(self) -> int:
        """Rounds of the measure that has the most."""
        return max((len(lines) for peers in self.lines.values() for lines in peers.values()), default=0)

    def _values(self, measure: str, peer: str, name: str) -> list[float | None]:
        lines = self.lines.get(measure, {}).get(peer, [])
        return [float(line[name]) if name in line else None for line in lines]


def schedule(jobs: list[Job], rounds: int) -> Iterator[Job]:
    """All jobs of each round, measure by measure; who is first within a measure changes with the round."""
    measures = list(dict.fromkeys(job.measure for job in jobs))
    for number in range(rounds):
        for measure in measures:
            own = [job for job in jobs if job.measure == measure]
            first = number % len(own)
            yield from own[first:] + own[:first]
