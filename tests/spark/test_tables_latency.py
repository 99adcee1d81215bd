"""Delays of topics: buckets of Spark and of Python agree, and quantiles are near the exact ones."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.records import plain

from giusto.pipeline.tables import histogram
from giusto.pipeline.tables.gold import topic_latency
from giusto.pipeline.tables.table import Inputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SECOND_NS = 1_000_000_000
DELIVERIES = (
    "run string, topic string, subscriber string, subscription long, t_sent_ns long, latency_ns long, "
    "bound_ns long, deadline_ns long"
)


def values(rng: random.Random) -> list[int]:
    """Numbers of all sizes, and those around each power of two."""
    near = [2**bits + by for bits in range(63) for by in (-2, -1, 0, 1, 2)]
    drawn = [rng.getrandbits(rng.randint(1, 63)) for _ in range(5_000)]
    return [value for value in (*near, *drawn, 2**63 - 1, -1, -(2**63)) if value < 2**63]


def test_spark_and_python_agree_on_every_bucket(spark: SparkSession, seed: int) -> None:
    from pyspark.sql import functions as fn

    chosen = values(random.Random(seed))
    bucket = histogram.bucket(fn.col("value"))
    found = spark.createDataFrame([(value,) for value in chosen], "value long").select(
        "value", bucket.alias("at")
    )
    at = fn.col("at")
    shown = found.select(
        "value", "at", histogram.lower(at), histogram.upper(at), histogram.midpoint(at)
    ).collect()
    assert len(shown) == len(chosen)
    for value, at_bucket, *ends in shown:
        assert at_bucket == histogram.bucket_of(value), value
        expected = (histogram.lower_of, histogram.upper_of, histogram.midpoint_of)
        assert ends == [each(at_bucket) for each in expected]


def delays(rng: random.Random) -> dict[str, list[int]]:
    """Delays of several shapes, by topic."""
    shapes = {
        "few": [rng.randint(1, 10**9) for _ in range(3)],
        "even": [rng.randint(0, 10**7) for _ in range(2_000)],
        "long tail": [int(rng.lognormvariate(11, 2)) for _ in range(2_000)],
        "two humps": [int(rng.gauss(rng.choice([1e5, 1e8]), 1e4)) for _ in range(2_000)],
        "one value": [rng.randint(0, 2**40)] * 500,
    }
    return {topic: [max(0, delay) for delay in drawn] for topic, drawn in shapes.items()}


def frame(spark: SparkSession, rows: list[tuple[str, int, int]]) -> DataFrame:
    """Deliveries of one subscription: topic, sent, delay."""
    return spark.createDataFrame(
        [("r", topic, "s", 1, sent, ns, None, None) for topic, sent, ns in rows], DELIVERIES
    )


def exact(delays: list[int], part: int) -> int:
    """The quantile by the nearest rank."""
    return sorted(delays)[math.ceil(len(delays) * part / 10_000) - 1]


def test_quantiles_are_within_one_percent_and_the_maximum_is_exact(spark: SparkSession, seed: int) -> None:
    drawn = delays(random.Random(seed))
    rows = [(topic, 0, delay) for topic, each in drawn.items() for delay in each]
    half = len(rows) // 3
    parts = [topic_latency.partial(inputs(frame(spark, part))) for part in (rows[:half], rows[half:])]
    shown = plain(topic_latency.present(topic_latency.merge(parts[0].unionByName(parts[1]))))
    assert sorted(row["topic"] for row in shown) == sorted(drawn)
    for row in shown:
        of_topic = drawn[row["topic"]]
        assert (row["count"], row["max_ns"]) == (len(of_topic), max(of_topic))
        assert row["mean_ns"] == sum(of_topic) // len(of_topic)
        assert row["histogram"] == counted(of_topic)
        for name, part in topic_latency.QUANTILES.items():
            assert row[name] == pytest.approx(exact(of_topic, part), rel=0.01), (row["topic"], name)


def inputs(deliveries: DataFrame, **options: Any) -> Inputs:
    """What the table is made of: it looks at deliveries alone."""
    return Inputs(deliveries, deliveries, **options)


def counted(delays: list[int]) -> dict[int, int]:
    """The histogram of delays."""
    found: dict[int, int] = {}
    for delay in delays:
        found[histogram.bucket_of(delay)] = found.get(histogram.bucket_of(delay), 0) + 1
    return found


def test_windows_begin_at_multiples_of_their_length(spark: SparkSession) -> None:
    # Two messages in the window from 4 s to 6 s, one at the very beginning of the next.
    rows = [("a", 4 * SECOND_NS, 10), ("a", 6 * SECOND_NS - 1, 30), ("a", 6 * SECOND_NS, 50)]
    table = topic_latency.TABLE.of(inputs(frame(spark, rows), window_ns=2 * SECOND_NS))
    shown = {row["window_start_ns"]: row for row in plain(table)}
    assert {start: row["count"] for start, row in shown.items()} == {4 * SECOND_NS: 2, 6 * SECOND_NS: 1}
    first = shown[4 * SECOND_NS]
    # Two in two seconds; the first of two is the median, the second all beyond.
    assert (first["rate_hz"], first["p50_ns"], first["p90_ns"], first["mean_ns"]) == (1.0, 10, 30, 20)
