"""What a sweep found: for each group of cases the mean of each number, and how sure it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from giusto.errors import InvalidInput
from giusto.pipeline.cases import (
    CASE,
    COUNT,
    DEVIATION,
    HALF_WIDTH,
    LEAST,
    MEAN,
    MOST,
    RESULT,
    SECONDS,
    SEED,
)
from giusto.pipeline.confidence import half_width, require_confidence
from giusto.pipeline.folder import Folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SPARK_TYPES = {"string": "string", "double": "double", "int64": "bigint", "bool": "boolean"}
LOOK = b"giusto.look"
VALUE = "a value"  # no parameter is called that


def results(spark: SparkSession, folder: Folder) -> DataFrame:
    """All results as a table of Spark, one row per case."""
    fields = folder.result_schema()
    columns = ", ".join(f"`{field.name}` {SPARK_TYPES[str(field.type)]}" for field in fields)
    return spark.read.schema(columns).parquet(str(folder.results.resolve()))


def require_results(folder: Folder) -> None:
    """Refuse a folder without results, and files that are damaged or of another sweep."""
    folder.required()
    if not folder.finished():
        raise InvalidInput("out", folder.path, "a sweep with results; this one has none yet")


def groups(folder: Folder, by: Sequence[str] | None) -> list[str]:
    """The parameters that make a group: all but the seed, unless they are named."""
    if by is None:
        return [name for name in folder.kinds if name != SEED]
    for name in by:
        if name not in folder.kinds:
            raise InvalidInput("by", name, f"a parameter of the sweep: {', '.join(folder.kinds)}")
    return list(by)


def summarised(
    spark: SparkSession, folder: Folder, by: Sequence[str] | None = None, confidence: float = 95.0
) -> pa.Table:
    """One row per group and number: how many values, mean, deviation, half of the interval, least and most.

    Spark aggregates; the factor of Student's t, one per group, is put to it here.
    """
    require_confidence(confidence)
    keys = groups(folder, by)
    found = aggregated(results(spark, folder), keys, numbers(folder)).toArrow()
    return with_half_widths(found, confidence)


def numbers(folder: Folder) -> list[str]:
    """What the experiment gave; how long a run took is not among it."""
    known = {CASE, SECONDS, *folder.kinds}
    return [name for name in folder.result_schema().names if name not in known]


def aggregated(frame: DataFrame, keys: list[str], values: list[str]) -> DataFrame:
    """Group by `keys` and by number; runs that lack a number do not count for it."""
    from pyspark.sql import functions as of

    long = frame.select(*keys, *values).unpivot(list(keys), list(values), RESULT, VALUE)
    return (
        long.groupBy(*keys, RESULT)
        .agg(
            of.count(VALUE).alias(COUNT),
            of.avg(VALUE).alias(MEAN),
            of.stddev_samp(VALUE).alias(DEVIATION),
            of.min(VALUE).alias(LEAST),
            of.max(VALUE).alias(MOST),
        )
        .orderBy(*keys, RESULT)
    )


def with_half_widths(table: pa.Table, confidence: float) -> pa.Table:
    """The same with the half of each interval after the deviation."""
    import pyarrow as pa

    pairs = zip(table[COUNT].to_pylist(), table[DEVIATION].to_pylist(), strict=True)
    widths = [None if spread is None else half_width(count, spread, confidence) for count, spread in pairs]
    place = table.column_names.index(DEVIATION) + 1
    return table.add_column(place, HALF_WIDTH, pa.array(widths, pa.float64()))


def kept(folder: Folder, look: bytes) -> pa.Table | None:
    """A summary that was written down, if it is of the same results and the same question."""
    table = folder.read_summary()
    found = None if table is None else (table.schema.metadata or {}).get(LOOK)
    return table if found == look else None


def keep(folder: Folder, look: bytes, table: pa.Table) -> None:
    """Write a summary down, with what it was made of."""
    folder.write_summary(table.replace_schema_metadata({LOOK: look}))


def look_at(folder: Folder, by: Sequence[str] | None, confidence: float) -> bytes:
    """What a summary is made of: a question, and the files that answer it."""
    files = [[part.name, part.stat().st_size] for part in sorted(folder.results.glob("part-*.parquet"))]
    look = {"by": groups(folder, by), "confidence": float(confidence), "files": files}
    return json.dumps(look).encode()
