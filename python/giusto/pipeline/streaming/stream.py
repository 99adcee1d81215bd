"""The query of Spark around a stream: starts it, gives it every micro-batch once, presents, and ends it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.errors import GiustoError, NotRetained
from giusto.pipeline.judging import audited
from giusto.pipeline.manifests import Gap, gaps, told
from giusto.pipeline.output import STREAM, VERDICT, Output
from giusto.pipeline.progress import READING, Progress, Watch
from giusto.pipeline.streaming.batches import FILE, Batches
from giusto.pipeline.streaming.going_on import CHECKPOINT, query_id
from giusto.pipeline.streaming.intake import Intake
from giusto.pipeline.streaming.presenting import Presentation
from giusto.pipeline.streaming.slices import LATE, State
from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.table import WINDOW_NS
from giusto.pipeline.verdict import Counts, Verdict
from giusto.pipeline.work import Work, explanation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from giusto.pipeline.fetching import Fetching

# Spark leaves out files that are a week older than the newest, unless told otherwise.
ANY_AGE = "36500d"
# Presenting takes at most this part of the time, and that much while the stream is behind.
PRESENTING, PRESENTING_BEHIND = 0.15, 0.05


class Ending(Exception):
    """The stream ends; a micro-batch that begins now is for the next time."""


@contextmanager
def quiet_callbacks() -> Iterator[None]:
    """What a micro-batch raises is raised here; Py4J would print it as well."""
    log = logging.getLogger("py4j.clientserver")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)


def has_more_to_read(unread_rows: int, pending_rows: int) -> bool:
    """Whether a stream is behind: of the rows of some seconds, which wait, a quarter is yet to be read.

    Who presents rows that wait works on them twice. That is for a stream that keeps up: of it few are unread.
    """
    return 4 * unread_rows > pending_rows


@dataclass(slots=True)
class Stream:
    """Reads `records` as they come, and keeps the tables in `out` up to date until it is ended.

    It is the writer of `out`, and `GoingOn` has allowed it.
    """

    spark: SparkSession
    records: Path
    out: Output
    window_ns: int = WINDOW_NS
    delay_ns: int = 10_000_000_000
    every_s: float = 1.0
    refresh_s: float = 10.0
    keep_s: float | None = None
    watch: Watch | None = None
    fetching: Fetching | None = None
    shown: Callable[[Verdict], None] | None = None
    failure: BaseException | None = None
    is_ending: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    counts: Counts | None = None
    presented: tuple[int, ...] = (-1, 0, -1)
    presented_s: float = 0.0
    took_s: float = 0.0
    started_s: float = field(default_factory=time.monotonic)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def run(self, ended: threading.Event) -> Verdict:
        """Go on until `ended` is set; then present once more."""
        work = Work(self.spark, self.out.path)
        batches = Batches.begun(
            work,
            self.records,
            self.folder,
            Intake(self.records, self.folder),
            self.window_ns,
            self.delay_ns,
            self.keep_s,
        )
        batches.tidy()
        self.let_in(batches)
        with quiet_callbacks():
            self.follow(self.start(batches), batches, ended)
        return self.present(batches)

    def follow(self, query: StreamingQuery, batches: Batches, ended: threading.Event) -> None:
        """One turn after the other, until the end."""
        try:
            while not ended.is_set():
                self.turn(query, batches)
                ended.wait(self.every_s)
            with self.lock:  # not in the middle of a micro-batch
                self.is_ending = True
        finally:
            query.stop()

    def turn(self, query: StreamingQuery, batches: Batches) -> None:
        """Let new files in; present if there is something new and the last time is long enough ago."""
        self.require_alive(query)
        waits = "waiting" if self.let_in(batches) else "waiting for the broker"
        is_busy = batches.intake.unread or self.lock.locked()
        self.tell(batches, batches.doing or (READING if is_busy else waits))
        if not is_busy:
            with self.lock:
                batches.tidy()
        is_behind = has_more_to_read(batches.intake.unread_rows, batches.state.pending_rows)
        share = PRESENTING_BEHIND if is_behind else PRESENTING
        wait_s = max(self.refresh_s, self.took_s * (1 / share - 1))
        is_due = time.monotonic() - self.presented_s >= wait_s
        if is_due and self.is_new(batches.state, is_behind):
            self.present(batches, with_waiting=not is_behind)

    def is_new(self, state: State, is_behind: bool) -> bool:
        """Whether there is something to present: also rows that wait, if they were left out the last time."""
        if is_behind:
            return bool(state.parts) and self.presented[0] != state.batch
        return self.presented[:2] != (state.batch, state.forgotten) or not self.presented[-1]

    def let_in(self, batches: Batches) -> bool:
        """New files, as many as there is room for; whether their broker answers."""
        is_there = self.fetch(batches)
        with batches.work.spending("letting in"):
            batches.intake.take()
        return is_there

    def fetch(self, batches: Batches) -> bool:
        """Bring new files if they are elsewhere; whether their broker answers."""
        if self.fetching is None:
            return True
        known = batches.intake.names
        self.fetching.drop(known)
        try:
            self.fetching.bring(known)
        except (ConnectionError, TimeoutError, NotRetained):  # it may be back before its steward is
            if batches.state.batch < 0:  # it never was there
                raise
            return False
        return True

    def start(self, batches: Batches) -> StreamingQuery:
        """The query: whatever appears among the files that were let in."""
        reader = self.spark.readStream.schema(bronze.schema()).option("maxFileAge", ANY_AGE)
        rows = reader.parquet(str(batches.intake.links))
        named = rows.select(rows["_metadata.file_name"].alias(FILE))

        def do(frame: DataFrame, number: int) -> None:
            with self.lock:
                if self.is_ending:  # Spark must not take it for done
                    raise Ending
                try:
                    batches.do(frame, number, query_id(self.folder))
                except BaseException as error:
                    self.failure = error
                    raise

        writer = named.writeStream.foreachBatch(do).queryName("giusto")
        writer = writer.option("checkpointLocation", str(self.folder / CHECKPOINT))
        return writer.trigger(processingTime=f"{round(1000 * self.every_s)} milliseconds").start()

    def present(self, batches: Batches, *, with_waiting: bool = True) -> Verdict:
        """Make the tables of all that was read, or of all that is settled."""
        with self.lock, batches.work.spending("presenting"):
            began_s = time.monotonic()
            missing = gaps(self.records, batches.intake.good.values())
            verdict = self.verdict(batches, self.tables(batches, with_waiting, frozenset(missing)), missing)
            self.out.keep_verdict(verdict.to_dict())
            self.presented_s = time.monotonic()
            self.took_s = self.presented_s - began_s
        self.tell(batches, "presented")
        if self.shown is not None:
            self.shown(verdict)
        return verdict

    def tables(self, batches: Batches, with_waiting: bool, missing: frozenset[str]) -> Counts:
        """Make them, unless they are as they would be made."""
        state, facts = batches.state, batches.facts.frame()
        known = len(batches.intake.bad), batches.facts.changes, len(missing)
        wanted = state.batch, state.forgotten, *known, int(with_waiting)
        if self.counts is None or self.presented != wanted:
            is_first = not (self.out.path / VERDICT).exists()
            self.tell(batches, "making the tables for the first time" if is_first else "presenting")
            page = Presentation(batches.work, self.out, self.folder, state, facts, self.window_ns, missing)
            is_empty = not state.files and bool(state.parts)
            rows = batches.waiting() if with_waiting and not is_empty else None
            self.counts = page.make(rows, batches.intake)
            self.presented = wanted
        return self.counts

    def verdict(self, batches: Batches, counts: Counts, missing: dict[str, Gap]) -> Verdict:
        """What the tables come to."""
        return audited(
            self.out,
            counts,
            **told(self.records),
            gaps=missing,
            state_bytes=batches.intake.bytes(batches.state.files),
            started=self.started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self.started_s, 3),
            complete=LATE not in batches.state.quarantined,
        )

    def tell(self, batches: Batches, stage: str) -> None:
        """Say how far it is."""
        if self.watch is not None:
            state = batches.state
            self.watch(
                Progress(
                    stage,
                    rows=state.records,
                    seconds=time.monotonic() - self.started_s,
                    coming_rows=batches.intake.unread_rows + batches.under_way_rows,
                    pending_rows=state.pending_rows,
                    pending_bytes=batches.intake.bytes(state.files),
                    late_rows=state.quarantined.get(LATE, 0),
                    spent_s=dict(batches.work.spent_s),
                )
            )

    def require_alive(self, query: StreamingQuery) -> None:
        """Raise what ended the query, if something did."""
        if query.isActive:
            return
        if isinstance(self.failure, (GiustoError, OSError)):
            raise self.failure
        raise explanation(str(query.exception()), self.out.path) from self.failure

    @property
    def folder(self) -> Path:
        """Where all is that a stream needs to go on."""
        return self.out.path / STREAM
