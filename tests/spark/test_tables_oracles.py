"""Every table as Spark makes it is the one that DuckDB and Polars make of the same records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.silver import silver
from giusto.pipeline.tables.table import Inputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("duckdb", reason="extra `oracles` is not installed")
pytest.importorskip("polars", reason="extra `oracles` is not installed")

from benchmarks.pipeline import bear, duck
from benchmarks.pipeline.records import CLIENTS, write

pytestmark = pytest.mark.spark

ROWS = 20_000
SILVER = ("deliveries", "hops")
Oracle = duck.Duck | bear.Bear


@dataclass(frozen=True)
class Made:
    """What Spark made of some records, and others that know where they are."""

    folder: Path
    frames: dict[str, DataFrame]
    oracles: tuple[Oracle, ...]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("oracles")
    paths = write(folder, ROWS, file_rows=ROWS // 2, seed=3, twice=3)
    found = silver(bronze.read(spark, folder).rows)
    for name in SILVER:
        getattr(found, name).write.parquet(str(folder / name))
    frames = {name: spark.read.parquet(str(folder / name)) for name in SILVER}
    oracles: tuple[Oracle, ...] = (duck.Duck(folder / "scratch"), bear.Bear())
    for oracle in oracles:
        oracle.records(paths)
        for name in SILVER:
            oracle.input(name, folder / name)
    inputs = Inputs(frames["deliveries"], frames["hops"])
    return Made(folder, frames | {table.name: table.of(inputs) for table in TABLES}, oracles)


def rows(found: pa.Table, names: list[str]) -> list[tuple[Any, ...]]:
    """Rows in an order that numbers with a fraction have no part in: these may differ in the last digit."""
    plain = [tuple(known(row[name]) for name in names) for row in found.to_pylist()]
    return sorted(plain, key=lambda row: [repr(value) for value in row if not isinstance(value, float)])


def known(value: Any) -> Any:
    """A value as all three say it: a histogram is a list of pairs for some, and of structs for others."""
    if isinstance(value, list):
        return sorted(tuple(each.values()) if isinstance(each, dict) else each for each in value)
    return None if isinstance(value, float) and math.isnan(value) else value


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, to the last digits."""
    if isinstance(one, float) and isinstance(other, (float, int)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def require_same(found: pa.Table, oracle: Oracle, name: str, place: Path) -> None:
    """What an oracle makes of its records is what Spark found."""
    columns = [column for column in found.schema.names if column not in ("exact", "complete")]
    expected = rows(found, columns)
    oracle.write(name, place)
    others = pq.read_table(place)
    assert set(others.schema.names) == set(columns)
    compared = rows(others, columns)
    assert len(compared) == len(expected)
    for one, other in zip(expected, compared, strict=True):
        differing = [
            (column, mine, its)
            for column, mine, its in zip(columns, one, other, strict=True)
            if not is_same(mine, its)
        ]
        assert not differing


@pytest.mark.parametrize("name", [*SILVER, *(table.name for table in TABLES)])
def test_spark_duckdb_and_polars_come_to_the_same(made: Made, name: str) -> None:
    found = made.frames[name].toArrow()
    assert found.num_rows
    for oracle in made.oracles:
        if isinstance(oracle, duck.Duck) or name in bear.TABLES:
            require_same(found, oracle, name, made.folder / "oracle.parquet")


def test_deliveries_are_the_same_where_every_subscriber_keeps_records(
    spark: SparkSession, tmp_path: Path
) -> None:
    paths = write(tmp_path, ROWS // 4, seed=4, traced=CLIENTS)
    found = silver(bronze.read(spark, tmp_path).rows).deliveries.toArrow()
    pairs = found.filter(pc.field("records") == 2)
    assert pairs.num_rows > 0.9 * found.num_rows
    for oracle in (duck.Duck(tmp_path / "scratch"), bear.Bear()):
        oracle.records(paths)
        require_same(found, oracle, "deliveries", tmp_path / "oracle.parquet")
