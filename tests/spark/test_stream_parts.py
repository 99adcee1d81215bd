"""Parts of a stream on the disk: small files become one, large ones are linked; facts are read once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from records import frame

from giusto.pipeline.streaming import settling
from giusto.pipeline.streaming.facts import Facts
from giusto.pipeline.streaming.going_on import FORMAT
from giusto.pipeline.streaming.settling import write_together
from giusto.pipeline.tables import silver
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.table import Inputs
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
COLUMNS_OF_FORMAT = (3, "a3b2537381bf52e1")


def test_a_stream_of_parts_with_other_columns_has_another_format(spark: SparkSession) -> None:
    made = silver.silver(frame(spark, []))
    inputs = Inputs(made.deliveries, made.hops)
    columns = [(table.name, table.partial(inputs).dtypes) for table in TABLES]
    digest = hashlib.sha256(repr(columns).encode()).hexdigest()[:16]
    assert (FORMAT, digest) == COLUMNS_OF_FORMAT, "a stream of before must not go on: raise FORMAT"


def test_small_files_become_one_and_large_ones_are_linked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in "ab"]
    for number, folder in enumerate(folders):
        folder.mkdir()
        pq.write_table(pa.table({"n": [number, 10 + number]}), folder / "same.parquet")
    work = Work(spark, tmp_path)
    write_together(work, folders, tmp_path / "one")
    monkeypatch.setattr(settling, "LARGE_BYTES", 1)
    write_together(work, folders, tmp_path / "linked")
    for name, count in (("one", 1), ("linked", 2)):
        files = sorted((tmp_path / name).glob("*.parquet"))
        assert len(files) == count
        assert sorted(n for file in files for n in pq.read_table(file).column("n").to_pylist()) == [
            0,
            1,
            10,
            11,
        ]
    linked = {path.stat().st_ino for path in (tmp_path / "linked").glob("*.parquet")}
    assert linked == {(folder / "same.parquet").stat().st_ino for folder in folders}


def test_facts_are_made_anew_only_if_there_are_others(spark: SparkSession, tmp_path: Path) -> None:
    facts = Facts(spark, tmp_path)
    assert facts.frame() is None
    (tmp_path / "facts").mkdir()
    for number in (1, 2):
        fact = {"run": "r", "node": "hub", "at_ns": number, "output": "fifo"}
        (tmp_path / "facts" / f"{number}.json").write_text(json.dumps(fact))
        found = facts.frame()
        assert found is not None
        assert found is facts.frame()
        assert (found.count(), facts.changes) == (number, number)
