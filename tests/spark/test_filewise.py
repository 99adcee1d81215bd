"""Deliveries that are written file by file are those that Spark makes of the same rows."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.testing import assertSchemaEqual
from tests.spark.records import at_subscriber, plain, random_rows, seen, table, write

from giusto.pipeline.delivering import Delivered, Rows, delivered
from giusto.pipeline.filewise import pairs_among, stretches_of
from giusto.pipeline.streaming.settling import slices_of
from giusto.pipeline.tables import bronze, repeated
from giusto.pipeline.tables.files import Inspector
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MORNING_NS = 1_790_000_000_123_456_789
SLICES = {"r": (0, 2), "": (1, 3)}


@dataclass(frozen=True)
class Records:
    """Some files, and where to put what they come to."""

    spark: SparkSession
    paths: list[Path]
    place: Path

    def rows(self, slices: dict[str, tuple[int, int]] | None = None) -> Rows:
        files = Inspector().inspect(self.paths).good
        frame, most = bronze.raw(self.spark, files), sum(file.rows for file in files)
        return Rows(frame if slices is None else slices_of(frame, slices), most, files, slices)

    def is_written_filewise(self) -> bool:
        rows = self.rows()
        return pairs_among(self.spark, stretches_of(rows.files), rows.slices, rows.most) is not None

    def by(self, name: str, rows: Rows) -> Delivered:
        (self.place / name).mkdir()
        return delivered(Work(self.spark, self.place), rows, self.place / name / "deliveries")


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Subscribers that know the numbers of their subscriptions."""
    return [
        {**row, "subscription": row["subscription"] or 3} if row["subscriber"] is not None else row
        for row in rows
    ]


def in_several_forms(rows: list[dict[str, Any]], folder: Path) -> list[Path]:
    """Files that keep names as texts, once, or as differences, in one stretch or in several."""
    first, second, third = rows[::3], rows[1::3], rows[2::3]
    paths = [write(folder / "a.parquet", first, run="r", node="a", sequence=0, wall_offset_ns=MORNING_NS)]
    for name, kind, some in (
        ("b", pa.dictionary(pa.int32(), pa.string()), second),
        ("c", pa.large_string(), third),
    ):
        found = table(some)
        for n, field in enumerate(found.schema):
            if pa.types.is_string(field.type):
                found = found.set_column(n, field.name, found.column(n).cast(kind))
        paths.append(folder / f"{name}.parquet")
        texts = [field.name for field in found.schema if kind == field.type == pa.large_string()]
        pq.write_table(
            found,
            paths[-1],
            row_group_size=50,
            use_dictionary=not texts,
            column_encoding=dict.fromkeys(texts, "DELTA_BYTE_ARRAY") or None,
        )
    return paths


def test_deliveries_are_the_same_whether_a_row_passes_spark_or_not(
    spark: SparkSession, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated, "FEW", 0)  # pairs are many here
    rows = numbered(random_rows(random.Random(seed), 400))
    random.Random(seed).shuffle(rows)
    records = Records(spark, in_several_forms(rows, tmp_path / "records"), tmp_path)
    assert records.is_written_filewise()
    work = Work(spark, tmp_path)
    for name, slices in (("all", None), ("some", SLICES)):
        found = records.rows(slices)
        filewise = records.by(f"{name}-filewise", found)
        in_spark = records.by(f"{name}-spark", Rows(found.frame, found.most))
        assertSchemaEqual(filewise.deliveries.schema, in_spark.deliveries.schema)
        assert plain(filewise.deliveries) == plain(in_spark.deliveries)
        assert filewise.used(work) == in_spark.used(work) == found.frame.count()
        assert filewise.duplicates(work) == in_spark.duplicates(work) == 0
        assert not (tmp_path / f"{name}-filewise" / "aside").exists()


@pytest.mark.parametrize("also", ["a copy", "no number"])
def test_rows_that_may_be_of_anything_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, also: str
) -> None:
    rows = [seen(n, ingress=n + 1, selected=n + 2, egress=n + 3, sequence=n) for n in range(20)]
    other = rows[3] if also == "a copy" else at_subscriber(3, 9, sequence=3, subscription=None)
    alone = Records(spark, [write(tmp_path / "a.parquet", rows)], tmp_path)
    both = Records(spark, [*alone.paths, write(tmp_path / "b.parquet", [other])], tmp_path)
    assert alone.is_written_filewise()
    assert not both.is_written_filewise()
    assert both.by("both", both.rows()).used(Work(spark, tmp_path)) == 20 + (also == "no number")


def test_where_nothing_was_for_anybody_there_is_a_table_without_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    nobody = {"subscriber": None, "subscription": None, "node": "a->b"}
    row = seen(1, ingress=2, selected=3, egress=4, received=5, **nobody)
    records = Records(spark, [write(tmp_path / "a.parquet", [row])], tmp_path)
    assert records.is_written_filewise()
    found = records.by("none", records.rows())
    assert found.deliveries.count() == 0
    assert found.used(Work(spark, tmp_path)) == 1
