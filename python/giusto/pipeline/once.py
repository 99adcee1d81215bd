"""What a batch does: all records there are, through deliveries, to every table and the verdict."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.errors import InvalidInput, SparkFailed
from giusto.pipeline.damage import CORRUPT, damage
from giusto.pipeline.delivering import Delivered, Rows, delivered
from giusto.pipeline.judging import audited, counted_by
from giusto.pipeline.linking import link_name, refer
from giusto.pipeline.manifests import Gap, gaps, told
from giusto.pipeline.origin import Origin
from giusto.pipeline.output import BUS, DELIVERIES, QUARANTINE, STREAM, Output, named, write_files
from giusto.pipeline.progress import LOOKING, Progress, Steps, Watch
from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.files import BadFile, Inspected, Inspector, RecordFile, record_files
from giusto.pipeline.tables.table import Inputs, Table
from giusto.pipeline.verdict import Counts, Verdict, by_reason, summed
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from giusto.pipeline.fetching import Fetching

FILES = "files"


@dataclass(slots=True)
class Once:
    """One batch: reads `records` (a folder or a file), and leaves the tables in `out`, whose writer it is."""

    records: Path
    out: Output
    origin: Origin
    watch: Watch | None = None
    fetching: Fetching | None = None
    started_s: float = field(default_factory=time.monotonic)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    gaps: dict[str, Gap] = field(default_factory=dict)

    def gather(self, before: Origin | None = None) -> Inspected:
        """The files there are, found without Spark; refused if none has rows. `before` gives way to them."""
        if self.watch is not None:
            self.watch(Progress(LOOKING))
        if self.fetching is not None:
            self.fetching.bring()
        files = self.held(Inspector().inspect(record_files(self.records)))
        problem = missing(files)
        if problem is not None:
            raise self.refusal(problem)
        return files

    def run(self, spark: SparkSession, files: Inspected, before: Origin | None = None) -> Verdict:
        """Make everything anew; nothing in `out` changes before all of it is there."""
        self.gaps = gaps(self.records, files.good)
        counts = self.made(Work(spark, self.out.path), files)
        if not counts.used and self.out.has_tables():
            raise self.refusal(f"a record that can be used; left out {by_reason(counts.quarantined)}")
        self.out.keep(DELIVERIES, QUARANTINE, *(table.name for table in TABLES))
        self.out.claim(self.origin.to_dict())
        verdict = audited(
            self.out,
            counts,
            **told(self.records),
            gaps=self.gaps,
            started=self.started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self.started_s, 3),
        )
        self.out.keep_verdict(verdict.to_dict())
        if before is not None:
            self.clear(before)
        return verdict

    def clear(self, before: Origin) -> None:
        """Remove what tables needed that are not there any more."""
        if before.mode == STREAM:
            self.out.put_aside(STREAM)
        if self.fetching is None:
            self.out.put_aside(BUS)

    def refusal(self, expected: str) -> InvalidInput:
        """Why there are no tables of these records."""
        if self.out.has_tables():
            expected += f"; the tables in {self.out.path} are as they were"
        return InvalidInput("records" if self.fetching is None else "bus", self.origin.records, expected)

    def held(self, files: Inspected) -> Inspected:
        """These files, of which the good ones stay as long as this runs; without what is removed by now."""
        self.out.new(FILES).mkdir()
        good = tuple(file for file in files.good if refer(file.path, self.link(file)))
        return Inspected(good, tuple(file for file in files.bad if os.path.lexists(file.path)))

    def link(self, file: RecordFile) -> Path:
        """Where a file is read."""
        return self.out.new(FILES) / link_name(file.path.name)

    def made(self, work: Work, files: Inspected) -> Counts:
        """All tables; if pages of some files cannot be read, without those files."""
        try:
            return self.tables(work, files, self.steps(files))
        except SparkFailed:
            sound = self.sound(files)
            if sound == files:
                raise
            return self.tables(work, sound, self.steps(sound))

    def sound(self, files: Inspected) -> Inspected:
        """Files that can be read to their ends; the others are bad, or gone."""
        there = [file for file in files.good if self.link(file).exists()]
        problems = [(file, damage(self.link(file))) for file in there]
        corrupt = [BadFile(file.path, CORRUPT, why, file.rows) for file, why in problems if why is not None]
        return Inspected(
            tuple(file for file, why in problems if why is None),
            tuple(sorted([*files.bad, *corrupt], key=lambda file: file.path)),
        )

    def steps(self, files: Inspected) -> Steps:
        """What is shown of the work on these files."""
        return Steps(self.watch, 3 + len(TABLES), rows=sum(file.rows for file in files.good))

    def tables(self, work: Work, files: Inspected, steps: Steps) -> Counts:
        """Write all tables beside those that are there."""
        steps.next("records")
        rows, bad = self.good_rows(work, files)
        steps.next(DELIVERIES)
        done = delivered(work, rows, self.out.new(DELIVERIES))
        facts = bronze.facts(work.spark, self.records)
        inputs = done.inputs(facts, self.origin.window_ns, frozenset(self.gaps))
        work.all(partial(self.write_table, work, table, inputs, steps) for table in TABLES)
        steps.next("verdict")
        return self.counts(work, files, bad, done)

    def good_rows(self, work: Work, files: Inspected) -> tuple[Rows, dict[str, int]]:
        """Rows against which there is no reason; the others are written, and counted by their reasons."""
        linked = tuple(replace(file, path=self.link(file)) for file in files.good)
        rows: DataFrame = work.do(lambda: bronze.raw(work.spark, linked))
        most = sum(file.rows for file in linked)
        place = self.out.new(QUARANTINE)
        work.write(bronze.judged(rows).filter(f"{bronze.REASON} is not null"), place / "rows")
        write_files(place, files.bad)
        bad = counted_by(place / "rows", bronze.REASON)
        # Asking nothing of each row again lets every table read its own columns alone.
        return (Rows(bronze.sifted(rows).rows, most) if bad else Rows(rows, most, linked)), bad

    def write_table(self, work: Work, table: Table, inputs: Inputs, steps: Steps) -> None:
        """One table, in one file: what people read is small."""
        steps.next(table.name)
        work.write(table.of(inputs), self.out.new(table.name), files=1)

    def counts(self, work: Work, files: Inspected, bad: dict[str, int], done: Delivered) -> Counts:
        """How many rows went where."""
        left_out = summed((file.reason, file.rows or 0) for file in files.bad)
        return Counts(
            records=sum(file.rows for file in files.good) + sum(left_out.values()),
            used=done.used(work),
            duplicates=done.duplicates(work),
            quarantined=summed([*bad.items(), *left_out.items()]),
            quarantined_files=summed((file.reason, 1) for file in files.bad),
        )


def missing(files: Inspected) -> str | None:
    """What should be there, if no file has a row that might be used."""
    if any(file.rows for file in files.good):
        return None
    if files.good:
        return "records; there are files of them without a single row"
    if not files.bad:
        return "records; there is no file of them"
    return f"a file of records; left out {named(files.bad)}"
