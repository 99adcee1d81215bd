"""What a micro-batch does: its rows are sorted, slices that have ended are settled, the state is written."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.delivering import Rows
from giusto.pipeline.linking import literal
from giusto.pipeline.output import read_json, write_json
from giusto.pipeline.streaming.facts import Facts
from giusto.pipeline.streaming.forgetting import forget, remove_forgotten
from giusto.pipeline.streaming.intake import Intake
from giusto.pipeline.streaming.parts import (
    BAD,
    PARTS,
    bundle_name,
    bundled,
    name_of,
    remove_others,
    to_bundle,
)
from giusto.pipeline.streaming.settling import (
    number_of,
    run_of,
    slices_of,
    write_bundle,
    write_part,
    write_together,
)
from giusto.pipeline.streaming.slices import LATE, Group, State, Step, step
from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.files import COLUMNS
from giusto.pipeline.tables.table import slice_of
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STATE = "state.json"
FILE = "file"
# No slice has such a number.
NEVER = 1 << 62
# Makes one folder of several.
Writer = Callable[[Work, Sequence[Path], Path], None]


@dataclass(slots=True)
class Batches:
    """Micro-batches of one stream, and the state after the last of them.

    Everything is written under names that follow from the number of the micro-batch, then the state as a
    whole. One that is done again, because the process ended before Spark knew of it, is known by its number.
    """

    work: Work
    facts: Facts
    folder: Path
    intake: Intake
    window_ns: int
    delay_ns: int
    state: State
    keep_s: float | None = None
    token: str = field(default_factory=lambda: secrets.token_hex(4))
    doing: str = ""
    under_way_rows: int = 0

    @classmethod
    def begun(
        cls,
        work: Work,
        records: Path,
        folder: Path,
        intake: Intake,
        window_ns: int,
        delay_ns: int,
        keep_s: float | None = None,
    ) -> Batches:
        """Begin, or go on where the last process ended; what it left unfinished is removed."""
        kept = read_json(folder / STATE)
        state = State() if kept is None else State.from_dict(kept)
        remove_others(folder / PARTS, state.parts)
        remove_others(folder / BAD, state.bad)
        remove_forgotten(state, folder / PARTS)
        intake.begin(state.gone, (*state.files, *state.leaving))
        facts = Facts(work.spark, records)
        return cls(work, facts, folder, intake, window_ns, delay_ns, state, keep_s)

    def do(self, frame: DataFrame, batch: int, query: str | None) -> None:
        """One micro-batch, of the files whose names are in `frame`, once."""
        if batch <= self.state.batch:
            return
        try:
            self.go_through(frame, batch, query)
        finally:
            self.doing, self.under_way_rows = "", 0

    def go_through(self, frame: DataFrame, batch: int, query: str | None) -> None:
        """All of a micro-batch, until the state is written."""
        spending, before = self.work.spending, replace(self.state, query=query)
        with spending("grouping"):
            names = self.work.do(lambda: [row[FILE] for row in frame.select(FILE).distinct().collect()])
            self.under_way_rows = sum(file.rows for file in self.intake.files(names))
            self.intake.was_read(names)
            made = step(before, batch, self.groups(names), self.delay_ns, time.time())
        if made.settles:
            self.doing = "settling slices that have ended"
        with spending("settling"):
            state = self.settle(before, made)
        with spending("bundling"):
            parts = self.bundled(state.parts, self.folder / PARTS, write_bundle)
            state = self.forget(replace(state, parts=parts))
        if made.bad:
            bad = *state.bad, self.write_bad(made, before)
            state = replace(state, bad=self.bundled(bad, self.folder / BAD, write_together))
        write_json(self.folder / STATE, state.to_dict())
        self.state = state
        self.intake.remove(state.gone)
        remove_forgotten(state, self.folder / PARTS)
        remove_others(self.folder / PARTS, state.parts)
        remove_others(self.folder / BAD, state.bad)

    def groups(self, names: Iterable[str]) -> list[Group]:
        """How many rows there are of each file, slice and reason; Spark asks those that may be bad."""
        known = {name: self.intake.groups.get(name) for name in sorted(names)}
        unknown = [name for name, groups in known.items() if groups is None]
        found = [group for groups in known.values() if groups is not None for group in groups]
        return [*found, *(self.judged(unknown) if unknown else ())]

    def judged(self, names: Iterable[str]) -> list[Group]:
        """Every row of these files against the reasons that there may be."""
        from pyspark.sql import functions as fn

        paths = [literal(file.path) for file in self.intake.files(names)]
        rows = self.work.spark.read.schema(bronze.schema()).parquet(*paths)
        counted = (
            bronze.judged(rows.select(*COLUMNS, rows["_metadata.file_name"].alias(FILE)))
            .groupBy(FILE, run_of().alias("run"), slice_of().alias("slice"), bronze.REASON)
            .agg(fn.count("*").alias("rows"), fn.max("t_sent_ns").alias("newest_ns"))
        )
        return [
            Group(row[FILE], row["run"], row["slice"] or 0, row["reason"], row["rows"], row["newest_ns"] or 0)
            for row in self.work.do(counted.collect)
        ]

    def write_bad(self, made: Step, before: State) -> str:
        """Keep rows that are not used, with the reason; tells under which name."""
        from pyspark.sql import functions as fn

        is_late = slice_of() < number_of(before.settled)
        reason = fn.coalesce(bronze.REASON, fn.when(is_late, LATE))
        rows = bronze.judged(self.rows(made.bad, False))
        bad = rows.withColumn(bronze.REASON, reason).filter(f"{bronze.REASON} is not null")
        name = name_of(0, made.state.batch, self.token)
        self.work.write(bad.select(*COLUMNS, bronze.REASON), self.folder / BAD / name, files=1)
        return name

    def settle(self, before: State, made: Step) -> State:
        """Make a part of the slices that have ended, if some have."""
        if not made.settles:
            return made.state
        names = [name for name in {*before.files, *made.came} if self.has_some_of(name, made.settles)]
        rows = self.rows_of(names, made.is_mixed, made.settles)
        part = name_of(0, made.state.batch, self.token)
        used, duplicates = write_part(
            self.work, rows, self.facts.frame(), self.window_ns, self.folder / PARTS / part
        )
        return replace(
            made.state,
            parts=(*made.state.parts, part),
            used=made.state.used + used,
            duplicates=made.state.duplicates + duplicates,
        )

    def has_some_of(self, name: str, slices: Mapping[str, tuple[int, int]]) -> bool:
        """Whether a file may have rows of some slices."""
        groups = self.intake.groups.get(name)
        return groups is None or any(
            group.run in slices and slices[group.run][0] <= group.slice < slices[group.run][1]
            for group in groups
        )

    def bundled(self, parts: tuple[str, ...], place: Path, write: Writer) -> tuple[str, ...]:
        """Parts in a folder, several of them as one if there are many."""
        some = to_bundle(parts)
        if not some:
            return parts
        bundle = bundle_name(some, self.token)
        write(self.work, [place / part for part in some], place / bundle)
        return bundled(parts, some, bundle)

    def forget(self, state: State) -> State:
        """Let deliveries go that are too old, if there is such a thing."""
        if self.keep_s is None:
            return state
        return forget(state, self.folder / PARTS, time.time() - self.keep_s)

    def tidy(self) -> None:
        """The same between micro-batches: deliveries grow old also while nothing comes."""
        state = self.forget(self.state)
        if state.forgotten == self.state.forgotten:
            return
        write_json(self.folder / STATE, state.to_dict())
        self.state = state
        remove_forgotten(state, self.folder / PARTS)

    def waiting(self) -> Rows:
        """Rows that are not settled."""
        # In the form in which rows are settled: so that Java has compiled the code for both.
        slices = {run: (self.state.settled.get(run, 0), NEVER) for run in self.state.waiting}
        return self.rows_of(self.state.files, bool(self.state.mixed), slices)

    def rows_of(self, names: Iterable[str], is_mixed: bool, slices: Mapping[str, tuple[int, int]]) -> Rows:
        """Good rows of some slices."""
        files = self.intake.files(names)
        frame, most = slices_of(self.rows(names, is_mixed), slices), sum(file.rows for file in files)
        return Rows(frame, most) if is_mixed else Rows(frame, most, files, slices)

    def rows(self, names: Iterable[str], is_mixed: bool) -> DataFrame:
        """Good rows of files; where all are good, no table has to read more columns than it needs."""
        rows = bronze.raw(self.work.spark, self.intake.files(names))
        return bronze.sifted(rows).rows if is_mixed else rows
