"""Retained topics as DataFrames, and what was published on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retaining import Retaining

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


def read(spark: SparkSession, broker: Retaining, topic: str, **options: Any) -> DataFrame:
    reader = spark.read.format("giusto").option("url", broker.address).option("topic", topic)
    return reader.options(**options).load()


def stream(spark: SparkSession, broker: Retaining, topic: str, **options: Any) -> DataFrame:
    reader = spark.readStream.format("giusto").option("url", broker.address).option("topic", topic)
    return reader.options(**options).load()


def payloads(rows: DataFrame) -> list[bytes]:
    return [bytes(row["payload"]) for row in rows.select("payload").collect()]
