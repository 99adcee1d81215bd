"""What is found sound without Spark has no bad row by Spark's own judgement."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from records import ARROW, frame, random_rows

from giusto.pipeline.streaming.census import is_sound
from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.files import COLUMNS, LATEST_NS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in COLUMNS.items()])
EDGES = {
    "string": [None, "", "delivered", "eaten"],
    "integer": [None, -1, 0, 1 << 16, (1 << 16) + 1],
    "byte": [None, -1, 0, 7, 8],
    "double": [None, -1.0, float("nan"), float("inf")],
    "long": [None, -(2**63), -1, 0, 1, 1_000_000_000, bronze.LONGEST_NS, 1 << 32, LATEST_NS, 2**63 - 1],
}


def spoiled(chance: random.Random, row: dict[str, Any]) -> dict[str, Any]:
    """A row with one or two values at, or just beside, what is allowed; one in four as it was."""
    found = dict(row)
    for name in chance.sample(sorted(COLUMNS), chance.choice([0, 1, 1, 2])):
        before = found[name]
        found[name] = chance.choice(EDGES[COLUMNS[name]])
        if isinstance(before, int) and COLUMNS[name] == "long" and chance.random() < 0.5:
            found[name] = before + chance.choice([-1, 1]) * chance.choice([1, 1000, 10**9, bronze.LONGEST_NS])
    return found


def test_what_is_sound_has_no_reason_against_it(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    rows = [spoiled(chance, row) for row in random_rows(chance, 400)]
    sound = [is_sound(pa.RecordBatch.from_pylist([row], SCHEMA)) for row in rows]
    reasons = [row["reason"] for row in bronze.judged(frame(spark, rows)).select("reason").collect()]
    assert [reason for is_good, reason in zip(sound, reasons, strict=True) if is_good and reason] == []
    # And it is no use if it never finds anything.
    assert sum(sound) >= 0.9 * reasons.count(None) > 20
