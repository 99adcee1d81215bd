"""How fast the whole pipeline is: a batch with all its tables, and a stream that keeps them up to date.

A stream sustains a rate if it reads, settles and presents all records in the time in which so many come at
that rate. So it is measured from its start, over files that are all there, until the tables with the last of
them are presented. It presents what is settled now and then, as it does while it is behind. A second stream
gets its files one by one, at a rate that it has to keep up with, and presents what waits, too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.pipeline.cpu import processor_s

from giusto import pipeline
from giusto.pipeline.progress import Progress

if TYPE_CHECKING:
    from giusto.pipeline.result import Result

# One after the other; what is left of the time is spent between them.
STAGES = ("grouping", "settling", "bundling", "presenting")


@dataclass(frozen=True, slots=True)
class Whole:
    """A run of the pipeline; of a stream also how long it took until all was read, and its largest state.

    Of one that gets its files one by one also how many records had come and were not done with, at most: in
    the first half of the time, and in the second. One that keeps up has no more of them later than before.
    """

    title: str
    rows: int
    seconds: float
    read_s: float | None = None
    pending_rows: int = 0
    pending_bytes: int = 0
    processor_s: float | None = None
    spent_s: Mapping[str, float] = field(default_factory=dict)
    behind_rows: tuple[int, int] | None = None

    @property
    def idle_s(self) -> float:
        """Time in which no stage was under way."""
        return self.seconds - sum(self.spent_s.get(stage, 0.0) for stage in STAGES)

    @property
    def processor_us(self) -> float | None:
        """Processor time for a record: seconds for a million of them."""
        return None if self.processor_s is None else 1e6 * self.processor_s / self.rows


@dataclass
class Stopwatch:
    """Time on the clock and of the processors."""

    start_s: float = field(default_factory=time.perf_counter)
    used_s: float | None = field(default_factory=processor_s)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.start_s

    @property
    def processor_s(self) -> float | None:
        """Since the start."""
        now_s = processor_s()
        return None if now_s is None or self.used_s is None else now_s - self.used_s


def batch(records: Path, out: Path, rows: int) -> Whole:
    """All tables of all records at once."""
    watch = Stopwatch()
    done = pipeline.run(records, out)
    found = Whole("batch", rows, watch.seconds, processor_s=watch.processor_s)
    require_all(done, rows)
    return found


@dataclass
class Looking:
    """Ends a stream when it has read everything, and sees how much it keeps and what it does."""

    rows: int
    came: Callable[[], int]
    ended: threading.Event = field(default_factory=threading.Event)
    watch: Stopwatch = field(default_factory=Stopwatch)
    read_s: float | None = None
    pending_rows: int = 0
    pending_bytes: int = 0
    behind: list[tuple[float, int]] = field(default_factory=list)
    spent_s: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, progress: Progress) -> None:
        self.pending_rows = max(self.pending_rows, progress.pending_rows)
        self.pending_bytes = max(self.pending_bytes, progress.pending_bytes)
        self.behind.append((self.watch.seconds, self.came() - progress.rows))
        self.spent_s = progress.spent_s
        if progress.rows >= self.rows and self.read_s is None:
            self.read_s = self.watch.seconds
            self.ended.set()


def stream(records: Path, out: Path, rows: int) -> Whole:
    """A stream over files that are all there, from its start until their tables are presented."""
    return streamed("stream", records, out, Looking(rows, lambda: rows))


def paced(records: Path, out: Path, files: Sequence[Path], file_rows: int, rate_hz: int) -> Whole:
    """A stream whose files come one by one, from the first of them until the tables of all are presented."""
    title = f"stream, {rate_hz:,} come in a second"
    with coming(records, files, file_rows / rate_hz) as came:
        looking = Looking(len(files) * file_rows, lambda: len(came) * file_rows)
        found = streamed(title, records, out, looking)
    return replace(found, behind_rows=halves(looking.behind))


def halves(series: Sequence[tuple[float, int]]) -> tuple[int, int]:
    """The largest of what was seen until the middle of the time, and of what was seen since."""
    middle_s = series[-1][0] / 2
    early, late = ([rows for at_s, rows in series if (at_s < middle_s) is first] for first in (True, False))
    return max(early, default=0), max(late)


@contextmanager
def coming(folder: Path, files: Sequence[Path], every_s: float) -> Iterator[Sequence[Path]]:
    """Put files into a folder at their times, from now on; those that are there."""
    there: list[Path] = []
    is_over = threading.Event()

    def put() -> None:
        start_s = time.monotonic()
        for number, path in enumerate(files):
            if is_over.wait(max(0.0, start_s + number * every_s - time.monotonic())):
                return
            os.link(path, folder / "records" / path.name)
            there.append(path)

    (folder / "records").mkdir(parents=True)
    thread = threading.Thread(target=put)
    thread.start()
    try:
        yield there
    finally:
        is_over.set()
        thread.join()


def streamed(title: str, records: Path, out: Path, looking: Looking) -> Whole:
    """A stream until it has read what is looked for."""
    done = pipeline.stream(records, out, ended=looking.ended, watch=looking)
    found = Whole(
        title,
        looking.rows,
        looking.watch.seconds,
        looking.read_s,
        looking.pending_rows,
        looking.pending_bytes,
        looking.watch.processor_s,
        looking.spent_s,
    )
    require_all(done, looking.rows)
    return found


def require_all(done: Result, rows: int) -> None:
    """Figures of a run that lost something are none."""
    if done.verdict.records != rows:
        raise SystemExit(f"{done.verdict.records} of {rows} records were read")
