"""How fast the whole pipeline is: a batch with all its tables, and a stream that keeps them up to date."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from giusto import pipeline
from giusto.pipeline.progress import Progress

if TYPE_CHECKING:
    from giusto.pipeline.result import Result


@dataclass(frozen=True, slots=True)
class Whole:
    """A run of the pipeline; of a stream also how long it took until all was read, and its largest state."""

    title: str
    rows: int
    seconds: float
    read_s: float | None = None
    pending_rows: int = 0
    pending_bytes: int = 0


def batch(records: Path, out: Path, rows: int) -> Whole:
    """All tables of all records at once."""
    start = time.perf_counter()
    done = pipeline.run(records, out)
    seconds = time.perf_counter() - start
    require_all(done, rows)
    return Whole("batch", rows, seconds)


@dataclass
class Looking:
    """Ends a stream when it has read everything, and sees how much it keeps."""

    rows: int
    ended: threading.Event = field(default_factory=threading.Event)
    start: float = field(default_factory=time.perf_counter)
    read_s: float | None = None
    pending_rows: int = 0
    pending_bytes: int = 0

    def __call__(self, progress: Progress) -> None:
        self.pending_rows = max(self.pending_rows, progress.pending_rows)
        self.pending_bytes = max(self.pending_bytes, progress.pending_bytes)
        if progress.rows >= self.rows and self.read_s is None:
            self.read_s = time.perf_counter() - self.start
            self.ended.set()


def stream(records: Path, out: Path, rows: int) -> Whole:
    """A stream over files that are all there, from its start until their tables are presented."""
    looking = Looking(rows)
    done = pipeline.stream(records, out, ended=looking.ended, watch=looking)
    seconds = time.perf_counter() - looking.start
    require_all(done, rows)
    return Whole("stream", rows, seconds, looking.read_s, looking.pending_rows, looking.pending_bytes)


def require_all(done: Result, rows: int) -> None:
    """Figures of a run that lost something are none."""
    if done.verdict.records != rows:
        raise SystemExit(f"{done.verdict.records} of {rows} records were read")
