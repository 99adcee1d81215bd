"""Runs a pipeline: records in, tables and a verdict out; as a batch, or as a stream that goes on.

from giusto import pipeline

done = pipeline.run(records="trace")
print(done.verdict.violations, done.table("contract_audit").to_pandas())
"""

from __future__ import annotations

import dataclasses
import errno
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.contract import Duration, duration_ns
from giusto.errors import InvalidInput, Missing
from giusto.pipeline.once import Once
from giusto.pipeline.origin import BATCH, STREAM, Origin, replaced
from giusto.pipeline.output import Output
from giusto.pipeline.progress import READING, STARTING, Progress, Watch
from giusto.pipeline.result import Result
from giusto.pipeline.session import require, session
from giusto.pipeline.streaming.going_on import GoingOn
from giusto.pipeline.streaming.stream import Stream
from giusto.pipeline.verdict import Verdict, missing
from giusto.pipeline.volume import volume

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from giusto.pipeline.fetching import Fetching

_log = logging.getLogger("giusto.pipeline")
TABLES_FOLDER = "tables"
FULL = (errno.ENOSPC, errno.EDQUOT)


def run(
    records: str | Path | None = None,
    out: str | Path | None = None,
    *,
    bus: str | None = None,
    publish: str | None = None,
    master: str | None = None,
    window: Duration = "10s",
    settings: Mapping[str, str] | None = None,
    watch: Watch | None = None,
    replace: bool = False,
) -> Result:
    """Make all tables of the records in a trace folder, a folder of Parquet files or one file.

    They go to `out`: the folder `tables` beside the records unless it is named. Doing it again changes
    nothing; the tables of other records, or of a stream, are replaced only if `replace` says so. With `bus`
    the records are those of a broker at that address that traces; with `publish` the models that were found
    go to the broker there. `settings` are Spark's, for a session that is started.
    """
    window_ns = duration_ns(window, "window", least_ns=1_000_000)
    if publish is not None:
        require_address(publish, "publish", must_answer=True)
    source = sourced(records, bus, out, must_answer=True)
    origin = Origin(BATCH, source.name, window_ns)
    with source, source.out.writing():
        before = replaced(source.out, origin, replace=replace)
        require(master)
        course = Once(source.path, source.out, origin, watch, source.fetching)
        files = course.gather(before)
        done = Result(source.out.path, course.run(started(master, settings, watch), files, before))
    return done if publish is None else dataclasses.replace(done, published=publish_models(publish, done))


def stream(
    records: str | Path | None = None,
    out: str | Path | None = None,
    *,
    ended: threading.Event,
    bus: str | None = None,
    publish: str | None = None,
    master: str | None = None,
    window: Duration = "10s",
    delay: Duration = "10s",
    every: Duration = "1s",
    refresh: Duration = "10s",
    keep: Duration | None = None,
    settings: Mapping[str, str] | None = None,
    watch: Watch | None = None,
    replace: bool = False,
) -> Result:
    """Keep the tables of records up to date as they come, until the event `ended` is set from another thread.

    A row that is sent `delay` earlier than the newest may come too late to be used. New files are looked for
    `every` so often, and the tables are made anew after each `refresh`, if there is something new; then the
    models are published, too. Deliveries that were settled longer ago than `keep` are removed from their
    table, and counted; other tables go on to cover them. Ended in any way, also by force, it goes on where it
    was when it is started again with the same `out`. The rest is as in `run`.
    """
    if publish is not None:
        require_address(publish, "publish")
    window_ns = duration_ns(window, "window", least_ns=1_000_000)
    delay_ns = duration_ns(delay, "delay")
    every_s = duration_ns(every, "every", least_ns=1_000_000) / 1e9
    refresh_s = duration_ns(refresh, "refresh") / 1e9
    keep_s = None if keep is None else duration_ns(keep, "keep") / 1e9
    source = sourced(records, bus, out)
    going_on = GoingOn(source.out, Origin(STREAM, source.name, window_ns), source.fetching)
    with source, source.out.writing():
        require(master)
        going_on.require(replace=replace)
        spark = started(master, settings, watch)
        if watch is not None:
            watch(Progress(READING))
        going_on.begin()
        course = Stream(
            spark,
            source.path,
            source.out,
            window_ns=window_ns,
            delay_ns=delay_ns,
            every_s=every_s,
            refresh_s=refresh_s,
            keep_s=keep_s,
            watch=watch,
            fetching=source.fetching,
            shown=None if publish is None else Telling(publish, source.out.path),
        )
        return Result(source.out.path, course.run(ended))


@dataclass(frozen=True, slots=True)
class Source:
    """Where records come from, and where tables go."""

    path: Path
    out: Output
    fetching: Fetching | None = None

    @property
    def name(self) -> str:
        """By what the records are known."""
        return str(self.path) if self.fetching is None else self.fetching.options.url

    def __enter__(self) -> Source:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self.fetching is not None:
            self.fetching.close()
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            raise full(error, self.out.path) from error


def full(error: OSError, out: Path) -> OSError:
    """A disk without room, where it is, and what to do: the system says only that there is none."""
    problem = f"{error.strerror}: every table is whole; make room and run it again"
    return OSError(error.errno, problem, str(out))


def sourced(
    records: str | Path | None, bus: str | None, out: str | Path | None, *, must_answer: bool = False
) -> Source:
    """A folder or file that is here, or the files of a broker, which are brought to the folder of tables."""
    if records is not None and bus is not None:
        raise InvalidInput("records", records, f"records from one place; {bus} is named as well")
    if records is None and bus is None:
        raise Missing("records", "a trace folder or a file of records, or a bus to get them from")
    if bus is not None:
        if out is None:
            raise Missing("out", "a folder for the tables, if records come over the bus")
        require_address(bus, "bus", must_answer=must_answer)
        from giusto.pipeline.fetching import Fetching

        output = Output(out)
        fetching = Fetching(bus, output.path)
        return Source(fetching.folder, output, fetching)
    path = existing(Path(records or "."))
    output = Output(default_out(path) if out is None else out)
    if path.is_relative_to(output.path.resolve()):
        raise InvalidInput("records", path, f"records outside of the folder of tables, {output.path}")
    return Source(path, output)


def require_address(url: str, field: str, *, must_answer: bool = False) -> None:
    """Refuse what is not the address of a broker before anything is done; one that is away may come back."""
    from giusto.client import connect

    try:
        connect(url).close()
    except InvalidInput as error:
        raise InvalidInput(field, error.value, error.expected) from None
    except (ConnectionError, TimeoutError):
        if must_answer:
            raise


def publish_models(url: str, done: Result) -> int:
    """Tell a broker what was learned of links, flows and quanta; how many models that was."""
    from giusto.pipeline import models

    return len(models.publish(url, {name: done.table(name) for name in models.TABLES}))


def withheld(verdict: Verdict) -> list[str]:
    """Of which runs no models of flows and quanta are published, and why."""
    return [f"no models of flows and quanta: {lack}" for lack in missing(verdict.gaps)]


@dataclass(slots=True)
class Telling:
    """Publishes the models of a stream. If the broker is away it hears the next ones; that is said once.

    So is it of each run that not all models of it are published.
    """

    url: str
    out: Path
    is_away: bool = False
    said: int = 0

    def __call__(self, verdict: Verdict) -> None:
        if len(verdict.gaps) > self.said:
            self.said = len(verdict.gaps)
            for line in withheld(verdict):
                _log.warning("%s", line)
        try:
            publish_models(self.url, Result(self.out, verdict))
            self.is_away = False
        except (ConnectionError, TimeoutError) as error:
            if not self.is_away:
                _log.warning("models are not published until the broker is there: %s", error)
            self.is_away = True


def started(
    master: str | None, settings: Mapping[str, str] | None, watch: Watch | None = None
) -> SparkSession:
    """The session of this process, with room for many records if it is started now."""
    if watch is not None:
        watch(Progress(STARTING))
    return session(master, {**volume(), **(settings or {})})


def existing(records: Path) -> Path:
    """Where the records are, in full: workers may have another working directory, and links one place."""
    if not records.exists():
        raise InvalidInput("records", records, "a trace folder, a folder of Parquet files or one of them")
    return records.resolve()


def place(records: str | Path | None, out: str | Path | None) -> Path:
    """Where the tables of records are."""
    return (default_out(Path(records or ".")) if out is None else Path(out)).absolute()


def default_out(records: Path) -> Path:
    """Beside the records."""
    return (records if records.is_dir() else records.parent) / TABLES_FOLDER
