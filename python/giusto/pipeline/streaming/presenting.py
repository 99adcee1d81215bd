"""How a stream looks to those who read: all its parts, and the rows that still wait, as whole tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.output import DELIVERIES, QUARANTINE, Output, remove, write_files
from giusto.pipeline.streaming.intake import Intake
from giusto.pipeline.streaming.parts import BAD, PARTS, gather
from giusto.pipeline.streaming.settling import write_part, write_presented
from giusto.pipeline.streaming.slices import State
from giusto.pipeline.tables.catalog import TABLES
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

    def make(self, rows: DataFrame | None, intake: Intake) -> Counts:
        """Write all tables anew, of the parts and of `rows` that wait, and let them take their places.

        Without any part there have to be rows, if only an empty table of them. Without rows those that wait
        are counted as not yet read.
        """
        remove(self.out.new(WAITING))  # of the last time
        parts, waiting = self.parts, None
        if rows is not None:
            # As a part like the others: Java has compiled what makes one, and what reads one.
            place, most = self.out.new(WAITING), self.state.pending_rows
            waiting = write_part(self.work, rows, most, self.facts, self.window_ns, place, "presenting")
            parts = [*parts, place]
        self.work.all(
            partial(write_presented, self.work, table, parts, self.out.new(table.name)) for table in TABLES
        )
        self.gather_deliveries(parts)
        self.gather_quarantine(intake)
        self.out.keep(DELIVERIES, QUARANTINE, *(table.name for table in TABLES))
        return self.counts(waiting, intake)

    def counts(self, waiting: tuple[int, int] | None, intake: Intake) -> Counts:
        """How many rows went where; `waiting` are those that were used, and the duplicates."""
        used, duplicates = waiting or (0, 0)
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

    def gather_deliveries(self, parts: list[Path]) -> None:
        """The deliveries of all parts, side by side."""
        gather([part / DELIVERIES for part in parts], self.out.new(DELIVERIES))

    def gather_quarantine(self, intake: Intake) -> None:
        """Rows that were left out, and files."""
        place = self.out.new(QUARANTINE)
        gather([self.folder / BAD / name for name in self.state.bad], place / "rows")
        write_files(place, [intake.bad[name] for name in sorted(intake.bad)])
