"""What gold tables say that a broker can use: models of links, flows and quanta, and how they get there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.client import connect
from giusto.models import (
    EnvelopeModel,
    LinkModel,
    Model,
    QuantumCost,
    QuantumModel,
    RatePoint,
    encode,
    topic_of,
)
from giusto.pipeline.manifests import gaps

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

TABLES = ("link_model", "arrival_envelope", "quantum")
"""The gold tables that models come from."""
Row = Mapping[str, Any]


def publish(url: str, tables: Mapping[str, pa.Table]) -> list[Model]:
    """Publish what some of TABLES, as presented, say to the broker at `url`; returns what that was.

    Of flows only those that have no offer, or may have broken it: there may be very many, and others change
    nothing. Of runs of which records are missing there are models of links alone.
    """
    found = [model for model in models(tables) if is_news(model)]
    with connect(url, name=f"$pipeline-{os.getpid()}") as bus:
        publishers = {topic: bus.advertise(topic) for topic in sorted({topic_of(model) for model in found})}
        for model in found:
            publishers[topic_of(model)].publish(encode(model))
        bus.flush()
    return found


def is_news(model: Model) -> bool:
    """Whether a broker could make something of it."""
    if not isinstance(model, EnvelopeModel) or model.min_sep_ns is None:
        return True
    return model.closer > 0 and model.kept is not True


def measured(
    records: str | Path, names: Sequence[str] = TABLES, *, session: SparkSession | None = None
) -> dict[str, pa.Table]:
    """Some of TABLES, of a folder or file of records: what `publish` takes, without all the others."""
    from giusto.pipeline.session import session as of_process
    from giusto.pipeline.tables import bronze
    from giusto.pipeline.tables.catalog import table
    from giusto.pipeline.tables.silver import silver
    from giusto.pipeline.tables.table import Inputs

    spark = session or of_process()
    read = bronze.read(spark, records)
    found, missing = silver(read.rows), gaps(Path(records), read.files.good)
    facts = bronze.facts(spark, records)
    inputs = Inputs(found.deliveries, found.hops, facts, gaps=frozenset(missing))
    return {name: table(name).of(inputs).toArrow() for name in names}


def models(tables: Mapping[str, pa.Table]) -> Iterator[Model]:
    """The models in some of TABLES."""
    for name, made in (("link_model", links), ("arrival_envelope", envelopes), ("quantum", quanta)):
        if name in tables:
            yield from made(tables[name].to_pylist())


def links(rows: Iterable[Row]) -> Iterator[LinkModel]:
    """A model per link: of its most recent window, if that had enough messages."""
    for row in rows:
        is_recent = row["recent_count"] is not None
        prefix = "recent_" if is_recent else ""
        yield LinkModel(
            run=row["run"],
            source=row["source"],
            target=row["target"],
            count=row[f"{prefix}count"],
            mean_ns_per_kb=row[f"{prefix}mean_ns_per_kb"],
            variance=row[f"{prefix}variance"],
            least_ns=row["least_ns"],
            largest_ns=row["largest_ns"],
            normal=row[f"{prefix}normal"],
        )


def envelopes(rows: Iterable[Row]) -> Iterator[EnvelopeModel]:
    """A model per flow of which no record is missing; of one that has changed its offer, one for each."""
    in_messages = [row for row in rows if row["unit"] == "messages" and row["complete"]]
    for _, found in grouped(in_messages, "run", "publisher", "topic", "min_sep_ns"):
        yield envelope(found)


def envelope(rows: list[Row]) -> EnvelopeModel:
    """One flow, of its rows in messages."""
    one = rows[0]
    points = sorted((row["rho_hz"], row["sigma_messages"]) for row in rows)
    return EnvelopeModel(
        run=one["run"],
        publisher=one["publisher"],
        topic=one["topic"],
        count=one["count"],
        since_ns=one["since_ns"],
        until_ns=one["until_ns"],
        largest_bytes=one["largest_bytes"],
        points=tuple(RatePoint(rho_hz, sigma) for rho_hz, sigma in points),
        min_sep_ns=one["min_sep_ns"],
        excess_ns=next((row["excess_ns"] for row in rows if row["offered"]), None),
        closer=one["closer"],
        kept=one["kept"],
    )


def quanta(rows: Iterable[Row]) -> Iterator[QuantumModel]:
    """A model per node and run."""
    for (run, node), found in grouped(rows, "run", "node"):
        costs = tuple(
            QuantumCost(
                size_bytes=row["largest_bytes"],
                fan_out=row["fan_out"],
                count=row["count"],
                mean_ns=row["mean_ns"],
                p99_ns=row["p99_ns"],
                max_ns=row["max_ns"],
            )
            for row in sorted(found, key=lambda row: (row["size_class"], row["fan_out"]))
        )
        yield QuantumModel(run=run, node=node, costs=costs)


def grouped(rows: Iterable[Row], *names: str) -> Iterator[tuple[tuple[Any, ...], list[Row]]]:
    """Rows by some of their columns, which may be null."""

    def key(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in names)

    def order(row: Row) -> tuple[tuple[bool, Any], ...]:
        return tuple((value is not None, value) for value in key(row))

    for found, some in groupby(sorted(rows, key=order), key):
        yield found, list(some)
