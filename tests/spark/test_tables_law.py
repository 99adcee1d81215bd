"""The law of gold tables: sums of parts, merged, are the sums of the whole."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark.records import frame, plain, random_rows

from giusto.errors import InvalidInput
from giusto.pipeline.tables import silver
from giusto.pipeline.tables.catalog import table
from giusto.pipeline.tables.table import SLICE_NS, Inputs, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXACT = ("topic_latency", "contract_audit", "violations", "earnings", "losses")
SLICES = 6
MESSAGES = 400
FACTS = "run string, node string, at_ns long, wall_offset_ns long, input string, output string, \
topic string, weight double, cells_share double, bound_ns long, client string, client_share double"


@pytest.fixture(scope="module")
def arrow(spark: SparkSession, seed: int) -> tuple[pa.Table, pa.Table]:
    """Deliveries and hops of messages over several slices."""
    made = silver.silver(frame(spark, random_rows(random.Random(seed), MESSAGES, SLICES)))
    return made.deliveries.toArrow(), made.hops.toArrow()


def part(spark: SparkSession, arrow: tuple[pa.Table, pa.Table], slices: range) -> Inputs:
    """What was sent in some slices."""
    from pyspark.sql import functions as fn

    when = fn.expr(f"t_sent_ns div {SLICE_NS}").between(slices.start, slices.stop - 1)
    deliveries, hops = (spark.createDataFrame(rows).filter(when) for rows in arrow)
    facts = [("r", "hub", 1, 0, "twrr", "mtep", "a", 1.0, 0.5, 77, "p", 0.25)]
    return Inputs(deliveries, hops, spark.createDataFrame(facts, FACTS))


# Those of models have tests of their own: some of their sums are rounded.
@pytest.mark.parametrize("table", [table(name) for name in EXACT], ids=EXACT)
def test_parts_merge_to_the_sums_of_the_whole(
    spark: SparkSession, arrow: tuple[pa.Table, pa.Table], seed: int, table: Table
) -> None:
    first, second = sorted(random.Random(seed).sample(range(1, SLICES), 2))
    parts = [range(first), range(first, second), range(second, SLICES)]
    partials = [table.partial(part(spark, arrow, slices)) for slices in parts]
    two = table.merge(partials[0].unionByName(partials[1]))
    merged = plain(table.merge(two.unionByName(partials[2])))
    whole = plain(table.merge(table.partial(part(spark, arrow, range(SLICES)))))
    assert merged == whole
    assert merged


def test_a_table_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(InvalidInput, match="expected one of topic_latency, "):
        table("latency")
