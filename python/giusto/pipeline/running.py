"""Runs a pipeline: records in, tables and a verdict out; as a batch, or as a stream that goes on.

from giusto import pipeline

done = pipeline.run(records="trace")
print(done.verdict.violations, done.table("contract_audit").to_pandas())
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.contract import Duration, duration_ns
from giusto.errors import InvalidInput
from giusto.pipeline.once import Once
from giusto.pipeline.output import Output
from giusto.pipeline.progress import Watch
from giusto.pipeline.result import Result
from giusto.pipeline.session import session
from giusto.pipeline.streaming.stream import Stream
from giusto.pipeline.volume import volume

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES_FOLDER = "tables"


def run(
    records: str | Path,
    out: str | Path | None = None,
    *,
    master: str | None = None,
    window: Duration = "10s",
    settings: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Result:
    """Make all tables of the records in a trace folder, a folder of Parquet files or one file.

    They go to `out`: the folder `tables` beside the records unless it is named. Doing it again changes
    nothing. `settings` are Spark's, for a session that is started.
    """
    path = existing(records)
    window_ns = duration_ns(window, "window", least_ns=1_000_000)
    output = Output(default_out(path) if out is None else out)
    spark = started(master, settings)
    return Result(output.path, Once(spark, path, output, window_ns, watch).run())


def stream(
    records: str | Path,
    out: str | Path | None = None,
    *,
    ended: threading.Event,
    master: str | None = None,
    window: Duration = "10s",
    delay: Duration = "10s",
    every: Duration = "1s",
    refresh: Duration = "10s",
    settings: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Result:
    """Keep the tables of records up to date as they come, until the event `ended` is set from another thread.

    A row that is sent `delay` earlier than the newest may come too late to be used. New files are looked for
    `every` so often, and the tables are made anew after each `refresh`, if there is something new. Ended in
    any way, also by force, it goes on where it was when it is started again with the same `out`.
    """
    path = existing(records)
    output = Output(default_out(path) if out is None else out)
    times_ns = {
        "window": duration_ns(window, "window", least_ns=1_000_000),
        "delay": duration_ns(delay, "delay"),
        "every": duration_ns(every, "every", least_ns=1_000_000),
        "refresh": duration_ns(refresh, "refresh"),
    }
    course = Stream(
        started(master, settings),
        path,
        output,
        window_ns=times_ns["window"],
        delay_ns=times_ns["delay"],
        every_s=times_ns["every"] / 1e9,
        refresh_s=times_ns["refresh"] / 1e9,
        watch=watch,
    )
    return Result(output.path, course.run(ended))


def started(master: str | None, settings: Mapping[str, str] | None) -> SparkSession:
    """The session of this process, with room for many records if it is started now."""
    return session(master, {**volume(), **(settings or {})})


def existing(records: str | Path) -> Path:
    """Where the records are, in full: workers may have another working directory."""
    path = Path(records).absolute()
    if not path.exists():
        raise InvalidInput("records", records, "a trace folder, a folder of Parquet files or one of them")
    return path


def default_out(records: Path) -> Path:
    """Beside the records."""
    return (records if records.is_dir() else records.parent) / TABLES_FOLDER
