"""How a stream looks to those who read: all its parts, and the rows that still wait, as whole tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.delivering import Delivered, Rows, delivered
from giusto.pipeline.output import DELIVERIES, QUARANTINE, Output, remove, write_files
from giusto.pipeline.streaming.intake import Intake
from giusto.pipeline.streaming.parts import BAD, PARTS, gather
from giusto.pipeline.streaming.settling import partials
from giusto.pipeline.streaming.slices import State
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.table import Table
from giusto.pipeline.verdict import Counts, summed
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Presentation:
    """Makes tables of a state."""

    work: Work
    out: Output
    folder: Path
    state: State
    facts: DataFrame | None
    window_ns: int
    gaps: frozenset[str] = frozenset()

    def make(self, rows: Rows | None, intake: Intake) -> Counts:
        """Write all tables anew, of the parts and of `rows` that wait, and let them take their places.

        Without any part there have to be rows, if only an empty table of them. Without rows those that wait
        are counted as not yet read.
        """
        remove(self.out.new(WAITING))  # of the last time
        waiting = None if rows is None else delivered(self.work, rows, self.out.new(WAITING))
        self.work.all(partial(self.write_table, table, waiting) for table in TABLES)
        counts = self.counts(waiting, intake)
        self.gather_deliveries()
        self.gather_quarantine(intake)
        self.out.keep(DELIVERIES, QUARANTINE, *(table.name for table in TABLES))
        return counts

    def write_table(self, table: Table, waiting: Delivered | None) -> None:
        """One table of all parts and the rows that wait."""
        sums = []
        if self.state.parts:
            sums.append(partials(self.work, table, self.parts))
        if waiting is not None:
            sums.append(table.partial(waiting.inputs(self.facts, self.window_ns)))
        both = sums[0] if len(sums) == 1 else sums[0].unionByName(sums[1])
        shown = table.shown(table.merge(both), self.facts, self.gaps)
        self.work.write(shown, self.out.new(table.name), files=1)

    def counts(self, waiting: Delivered | None, intake: Intake) -> Counts:
        """How many rows went where."""
        used = 0 if waiting is None else waiting.used(self.work)
        duplicates = 0 if waiting is None else waiting.duplicates(self.work)
        pending = self.state.pending_rows
        left_out = intake.left_out
        return Counts(
            records=self.state.records + sum(left_out.values()) - (pending if waiting is None else 0),
            used=self.state.used + used,
            duplicates=self.state.duplicates + duplicates,
            pending=0 if waiting is None else pending,
            forgotten=self.state.forgotten,
            quarantined=summed([*self.state.quarantined.items(), *left_out.items()]),
            quarantined_files=summed((file.reason, 1) for file in intake.bad.values()),
        )

    @property
    def parts(self) -> list[Path]:
        """Where the parts are."""
        return [self.folder / PARTS / part for part in self.state.parts]

    def gather_deliveries(self) -> None:
        """The deliveries of all parts and of the rows that wait, side by side."""
        sources = [part / DELIVERIES for part in self.parts]
        gather([*sources, self.out.new(WAITING)], self.out.new(DELIVERIES))

    def gather_quarantine(self, intake: Intake) -> None:
        """Rows that were left out, and files."""
        place = self.out.new(QUARANTINE)
        gather([self.folder / BAD / name for name in self.state.bad], place / "rows")
        write_files(place, [intake.bad[name] for name in sorted(intake.bad)])
