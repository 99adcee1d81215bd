"""Runs a pipeline: records in, tables and a verdict out; as a batch, or as a stream that goes on.

from giusto import pipeline

done = pipeline.run(records="trace")
print(done.verdict.violations, done.table("contract_audit").to_pandas())
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from giusto.contract import Duration, duration_ns
from giusto.errors import InvalidInput
from giusto.pipeline.once import Once
from giusto.pipeline.output import Output
from giusto.pipeline.progress import Watch
from giusto.pipeline.result import Result
from giusto.pipeline.session import session
from giusto.pipeline.volume import volume

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
    spark = session(master, {**volume(), **(settings or {})})
    return Result(output.path, Once(spark, path, output, window_ns, watch).run())


def existing(records: str | Path) -> Path:
    """Where the records are, in full: workers may have another working directory."""
    path = Path(records).absolute()
    if not path.exists():
        raise InvalidInput("records", records, "a trace folder, a folder of Parquet files or one of them")
    return path


def default_out(records: Path) -> Path:
    """Beside the records."""
    return (records if records.is_dir() else records.parent) / TABLES_FOLDER
