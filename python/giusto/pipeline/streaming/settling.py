"""What becomes of rows whose slices have ended: their deliveries, and a part of every table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.delivering import MESSAGES, Rows, delivered
from giusto.pipeline.linking import literal
from giusto.pipeline.output import DELIVERIES, remove, settle
from giusto.pipeline.streaming.parts import gather
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.table import Inputs, Table, slice_of
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Files of at least this size are not written again to have fewer of them.
LARGE_BYTES = 16 << 20


def slices_of(rows: DataFrame, slices: Mapping[str, tuple[int, int]]) -> DataFrame:
    """Rows of some slices of each run: from the first up to but without the second; of other runs none."""
    first, until = ({run: pair[end] for run, pair in slices.items()} for end in (0, 1))
    return rows.filter((slice_of() >= number_of(first)) & (slice_of() < number_of(until)))


def number_of(numbers: Mapping[str, int]) -> Column:
    """The number that belongs to a row's run; 0 if none does.

    Looked up in a map also if there is one run only: a number would be written into the code that Spark makes
    of a plan, and Java would compile that anew for every micro-batch.
    """
    from pyspark.sql import functions as fn

    nothing = fn.lit(0).cast("long")
    if not numbers:
        return nothing
    pairs = [(fn.lit(run), fn.lit(number).cast("long")) for run, number in sorted(numbers.items())]
    known = fn.create_map(*(each for pair in pairs for each in pair))
    return fn.coalesce(fn.try_element_at(known, run_of()), nothing)


def run_of() -> Column:
    """The run of a row, also if it has no name."""
    from pyspark.sql import functions as fn

    return fn.coalesce("run", fn.lit(""))


def write_part(
    work: Work, rows: Rows, facts: DataFrame | None, window_ns: int, folder: Path
) -> tuple[int, int]:
    """Write a part; tells how many rows were used, and how many were duplicates."""
    with work.spending(f"settling {DELIVERIES}"):
        done = delivered(work, rows, folder / DELIVERIES)
    inputs = done.inputs(facts, window_ns)
    work.all(partial(write_partial, work, table, inputs, folder) for table in TABLES)
    with work.spending("settling counts"):
        counts = done.used(work), done.duplicates(work)
    remove(folder / MESSAGES)
    settle(folder)
    return counts


def write_partial(work: Work, table: Table, inputs: Inputs, folder: Path) -> None:
    """The sums of one table."""
    with work.spending(f"settling {table.name}"):
        work.write(table.partial(inputs), folder / table.name, files=1)


def write_bundle(work: Work, parts: Sequence[Path], folder: Path) -> None:
    """Several parts as one."""
    jobs = [partial(write_merged, work, table, parts, folder) for table in TABLES]
    deliveries = [part / DELIVERIES for part in parts]
    work.all([partial(write_together, work, deliveries, folder / DELIVERIES), *jobs])
    settle(folder)


def write_together(work: Work, folders: Sequence[Path], place: Path) -> None:
    """The rows of several folders in one, in fewer files if they are small."""
    found = [path.stat() for folder in folders for path in folder.glob("*.parquet")]
    size = sum(each.st_size for each in found)
    if size >= LARGE_BYTES * len(found):
        gather(folders, place)
        return
    rows = work.spark.read.parquet(*(literal(folder) for folder in folders if any(folder.glob("*.parquet"))))
    work.write(rows.coalesce(1 + size // (4 * LARGE_BYTES)), place)
    newest_s = max(each.st_mtime for each in found)
    for path in place.glob("*.parquet"):
        os.utime(path, (newest_s, newest_s))  # no row is younger for it


def write_merged(work: Work, table: Table, parts: Sequence[Path], folder: Path) -> None:
    """The sums of several parts added."""
    work.write(table.merge(partials(work, table, parts)), folder / table.name, files=1)


def partials(work: Work, table: Table, parts: Sequence[Path]) -> DataFrame:
    """The sums of several parts, side by side."""
    return work.spark.read.parquet(*(literal(part / table.name) for part in parts))
