"""What is measured: every table by each engine, in turn, at each size; and what Spark costs anyway.

Ratios are taken within one run. An engine whose time at a smaller size says that it would take too long is
left out at the larger one.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from benchmarks.pipeline import bear, duck

from giusto.pipeline.delivering import Rows, way_of
from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.files import Inspector
from giusto.pipeline.tables.table import Inputs
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SILVER = ("deliveries",)
GOLD = tuple(table.name for table in TABLES)
SCANS = {"count of all rows": "count(*)", "sum of one column": "sum(t_sent_ns)"}
ENDS = "deliveries, every subscriber keeps records"
SPARK, DUCKDB, POLARS = "Spark", "DuckDB", "Polars"
LONGEST_S = 60.0


class Engine(Protocol):
    """Makes tables of files."""

    def records(self, paths: list[Path]) -> None: ...

    def input(self, name: str, folder: Path) -> None: ...

    def write(self, name: str, path: Path) -> None: ...

    def scan(self, sum_of: str) -> object: ...


@dataclass
class Sparks:
    """Spark as an engine like the others; what is written is a folder."""

    spark: SparkSession
    inputs: dict[str, DataFrame] = field(default_factory=dict)
    rows: Rows | None = None

    def records(self, paths: list[Path]) -> None:
        """Where the records are; all of them are hops, unless told."""
        files = Inspector().inspect(paths).good
        found = bronze.raw(self.spark, files)
        self.inputs |= {"records": found, "hops": found}
        self.rows = Rows(found, sum(file.rows for file in files), files)

    def input(self, name: str, folder: Path) -> None:
        """Where the deliveries are, or the hops."""
        self.inputs[name] = self.spark.read.parquet(str(folder))

    def write(self, name: str, path: Path) -> None:
        """Make a table."""
        shutil.rmtree(path, ignore_errors=True)
        if name in SILVER and self.rows is not None:
            way_of(Work(self.spark, path), self.rows).write(path)
            return
        table = next(each for each in TABLES if each.name == name)
        inputs = Inputs(self.inputs["deliveries"], self.inputs["hops"])
        table.of(inputs).repartition(1).write.parquet(str(path))  # as the pipeline does

    def scan(self, sum_of: str) -> object:
        """One number of all records."""
        return self.inputs["records"].selectExpr(sum_of).collect()[0][0]


@dataclass(frozen=True, slots=True)
class Took:
    """How long an engine took for something at a size, in seconds."""

    engine: str
    what: str
    rows: int
    seconds: float


@dataclass
class Course:
    """A run over some sizes."""

    folder: Path
    engines: dict[str, Engine]
    say: Callable[[str], None]
    took: list[Took] = field(default_factory=list)

    def size(self, paths: list[Path], rows: int) -> None:
        """All tables of so many records."""
        for engine in self.engines.values():
            engine.records(paths)
        for what, sum_of in SCANS.items():
            for name, engine in self.engines.items():
                self.time(name, what, rows, partial(engine.scan, sum_of))
        for table in SILVER:
            self.table(table, rows)
            for engine in self.engines.values():
                engine.input(table, self.folder / SPARK / table)
        for table in GOLD:
            self.table(table, rows)

    def ends(self, paths: list[Path], rows: int) -> None:
        """The deliveries of records that every subscriber keeps, too."""
        for name, engine in self.engines.items():
            engine.records(paths)
            self.time(name, ENDS, rows, partial(engine.write, "deliveries", self.folder / name / "ends"))

    def table(self, table: str, rows: int) -> None:
        """One table, by all who can."""
        for name, engine in self.engines.items():
            if name == POLARS and table not in bear.TABLES:
                continue
            if name != SPARK and self.expected_s(name, table, rows) > LONGEST_S:
                continue
            place = self.folder / name / table
            place.parent.mkdir(parents=True, exist_ok=True)
            self.time(name, table, rows, partial(engine.write, table, place))

    def time(self, engine: str, what: str, rows: int, do: Callable[[], object]) -> None:
        """Do it, and keep how long it took."""
        start = time.perf_counter()
        do()
        self.took.append(Took(engine, what, rows, time.perf_counter() - start))
        self.say(f"{rows / 1e6:g} million, {what}: {engine} {self.took[-1].seconds:.2f} s")

    def expected_s(self, engine: str, what: str, rows: int) -> float:
        """How long it will take, by the last size; nothing is expected of the first."""
        known = [each for each in self.took if (each.engine, each.what) == (engine, what)]
        return known[-1].seconds * rows / known[-1].rows if known else 0.0


def engines(spark: SparkSession, folder: Path) -> dict[str, Engine]:
    """All of them, on two threads."""
    return {SPARK: Sparks(spark), DUCKDB: duck.Duck(folder / "scratch"), POLARS: bear.Bear()}


def empty_jobs(spark: SparkSession, count: int = 20) -> Iterator[float]:
    """Seconds of jobs that do nothing."""
    for _ in range(count):
        start = time.perf_counter()
        spark.range(1).selectExpr("sum(id)").collect()
        yield time.perf_counter() - start
