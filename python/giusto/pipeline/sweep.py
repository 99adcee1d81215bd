"""Many runs of one experiment: a table of cases goes through Spark, and every outcome is kept.

    from giusto.pipeline import sweep

    cases = sweep.grid(policy=["twrr", "fair"], load=[0.5, 0.9], seed=range(20))
    done = sweep.run("waiting", cases, "waiting-sweep")
    sweep.summary("waiting-sweep").to_pandas()

A case that fails is kept with its parameters and does not stop the others. A sweep that was interrupted,
however, goes on with `resume=True`: what has a result is not run again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.errors import InvalidInput
from giusto.pipeline import summary as summaries
from giusto.pipeline.cases import CASE, ERROR, SECONDS, TRACE, Cases, Value, grid, made
from giusto.pipeline.experiment import find, require_cases, require_parameters
from giusto.pipeline.fingerprint import fingerprint
from giusto.pipeline.flight import Flights, Landed
from giusto.pipeline.folder import Folder
from giusto.pipeline.session import QUICK, session
from giusto.pipeline.waves import IN_FLIGHT, wave_size

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = [
    "Done",
    "Failure",
    "Progress",
    "failures",
    "grid",
    "missing",
    "results",
    "resume",
    "run",
    "summary",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that gave no numbers: its parameters, seed among them, and why."""

    parameters: dict[str, Value]
    error: str
    trace: str

    def __str__(self) -> str:
        given = " ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{given}: {self.error}"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is: cases with an outcome of all; `ran` of them in this run of it, in `seconds`."""

    done: int
    total: int
    ran: int
    failed: int
    seconds: float

    @property
    def rate_hz(self) -> float:
        """Runs per second."""
        return self.ran / self.seconds if self.seconds > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """How long the rest takes at this rate, if there is one."""
        return (self.total - self.done) / self.rate_hz if self.rate_hz > 0 else None


Watch = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Done:
    """A sweep that came to its end: how many cases, how many of them ran now, and what failed."""

    out: Path
    cases: int
    ran: int
    seconds: float
    failures: list[Failure]


def run(
    experiment: str,
    cases: Any,
    out: str | Path,
    *,
    master: str | None = None,
    resume: bool = False,
    watch: Watch | None = None,
) -> Done:
    """Run an experiment (`module:function`, or a short name) once for each case; results go to folder `out`.

    `cases` is a list of dicts (see `grid`) or a table of pandas, Arrow or Spark: a column per parameter,
    which the function takes by keyword. It returns a dict of numbers. A folder that has results already is
    refused unless `resume`; then cases with a result are not run again, those that failed are, and new ones
    are added. Results of another experiment, or of other code, are refused; so is every case if the
    function's own `check` refuses one.
    """
    wanted = made(cases)
    function = find(experiment)
    require_parameters(experiment, function, wanted.names)
    require_cases(experiment, function, wanted)
    folder = Folder(out)
    with folder.writing():
        own = fingerprint(experiment)
        folder.require_room(own, wanted, resume)
        return Course(folder, experiment, wanted, watch).run(own, master)


def resume(out: str | Path, *, master: str | None = None, watch: Watch | None = None) -> Done:
    """Go on with the sweep in a folder where it stopped."""
    folder = Folder(out)
    experiment, cases = folder.required()["experiment"], folder.cases()
    if cases is None:
        raise InvalidInput("out", out, "a sweep that had begun; this one has no cases yet: run it again")
    return run(experiment, cases, out, master=master, resume=True, watch=watch)


def results(out: str | Path, *, master: str | None = None) -> DataFrame:
    """The results as a table of Spark: case, parameters, seconds, numbers."""
    folder = Folder(out)
    summaries.require_results(folder)
    return summaries.results(session(master, QUICK), folder)


def failures(out: str | Path) -> list[Failure]:
    """The cases that failed, and were not run well since."""
    folder = Folder(out)
    folder.required()
    return [failure(row) for row in folder.failed().values()]


def missing(out: str | Path) -> int:
    """How many cases of a sweep have no result yet."""
    folder = Folder(out)
    folder.required()
    cases = folder.cases()
    return 0 if cases is None else len(set(cases.rows) - folder.finished())


def summary(
    out: str | Path, *, by: Sequence[str] | None = None, confidence: float = 95.0, master: str | None = None
) -> pa.Table:
    """Mean and confidence interval of each number for each group of cases, as an Arrow table.

    A group is all parameters but `seed`, or those in `by`. A summary that was made before of the same
    results is not made again, and needs no Spark.
    """
    folder = Folder(out)
    folder.required()
    look = summaries.look_at(folder, by, confidence)
    found = summaries.kept(folder, look)
    if found is None:
        summaries.require_results(folder)
        found = summaries.summarised(session(master, QUICK), folder, by, confidence)
        with suppress(InvalidInput), folder.writing():  # not while a sweep goes on
            summaries.keep(folder, look, found)
    return found.replace_schema_metadata(None)


def failure(row: dict[str, Any]) -> Failure:
    """A row of failures."""
    parameters = {name: value for name, value in row.items() if name not in (CASE, SECONDS, ERROR, TRACE)}
    return Failure(parameters, row[ERROR], row[TRACE] or "")


@dataclass(slots=True)
class Course:
    """One run of a sweep, from the first wave to the last."""

    folder: Folder
    experiment: str
    cases: Cases
    watch: Watch | None
    waiting: deque[str] = field(default_factory=deque)
    before: int = 0
    ran: int = 0
    failed: int = 0
    spent_s: float = 0.0
    started_s: float = 0.0

    def run(self, own: dict[str, str], master: str | None) -> Done:
        """All cases that have no result yet, in the order of their digests: costs are mixed that way."""
        finished = self.folder.finished()
        self.waiting.extend(sorted(digest for digest in self.cases.rows if digest not in finished))
        self.before = len(self.cases) - len(self.waiting)
        if self.waiting:
            flights = Flights(session(master, QUICK), self.experiment, self.cases)
            flights.require_same_code(own)
            self.folder.begin(own, self.cases)
            self.started_s = time.monotonic()
            self.tell()
            self.fly(flights)
        return self.done()

    def fly(self, flights: Flights) -> None:
        """Keep some waves in the air until all have landed; whatever ends this ends them."""
        flying: set[Future[Landed]] = set()
        pool = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="giusto-sweep")
        try:
            while self.waiting or flying:
                while self.waiting and len(flying) < IN_FLIGHT:
                    flying.add(pool.submit(flights.fly, self.next_wave(flights.cores)))
                landed, flying = wait(flying, return_when=FIRST_COMPLETED)
                for wave in landed:
                    self.take(wave.result())
        finally:
            while flying:
                flights.cancel()
                _, flying = wait(flying, timeout=0.2)
            pool.shutdown()

    def next_wave(self, cores: int) -> list[str]:
        """The digests that go next."""
        case_s = self.spent_s / self.ran if self.ran else None
        size = wave_size(cores, len(self.waiting), case_s, self.seconds)
        return [self.waiting.popleft() for _ in range(size)]

    def take(self, landed: Landed) -> None:
        """Keep what a wave brought."""
        self.folder.append(self.cases, landed)
        self.ran += len(landed)
        self.failed += sum(outcome.error is not None for _, outcome in landed)
        self.spent_s += sum(outcome.seconds for _, outcome in landed)
        self.tell()

    def tell(self) -> None:
        """Say how far it is."""
        if self.watch is not None:
            done = self.before + self.ran
            self.watch(Progress(done, len(self.cases), self.ran, self.failed, self.seconds))

    def done(self) -> Done:
        """What it came to."""
        failed = self.folder.failed()
        own = [failure(failed[digest]) for digest in self.cases.rows if digest in failed]
        return Done(self.folder.path, len(self.cases), self.ran, self.seconds, own)

    @property
    def seconds(self) -> float:
        """Since the first wave."""
        return time.monotonic() - self.started_s if self.started_s else 0.0
