"""From good rows to what tables are made of: deliveries and messages, written once and read by all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.filewise import Stretch, pairs_among, stretches_of, write_passing
from giusto.pipeline.linking import literal
from giusto.pipeline.output import remove
from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.assembly import of_two
from giusto.pipeline.tables.files import RecordFile
from giusto.pipeline.tables.repeated import none_of
from giusto.pipeline.tables.selections import messages
from giusto.pipeline.tables.silver import is_copy, silver, told
from giusto.pipeline.tables.table import Inputs
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from giusto.pipeline.filewise import Hashes

MESSAGES = "messages"
"""Beside the deliveries, for the tables only: nobody keeps them."""
ASIDE = "aside"


@dataclass(frozen=True, slots=True)
class Rows:
    """Good rows, `most` of them or fewer.

    `files` are those they are from, if these have no bad rows; only the rows of some `slices`, if told.
    """

    frame: DataFrame
    most: int
    files: tuple[RecordFile, ...] = ()
    slices: Mapping[str, tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """Deliveries and messages that were written, and the rows they are made of."""

    deliveries: DataFrame
    messages: DataFrame
    hops: DataFrame
    copies: DataFrame

    def inputs(self, facts: DataFrame | None, window_ns: int, gaps: frozenset[str] = frozenset()) -> Inputs:
        """For tables."""
        return Inputs(self.deliveries, self.hops, facts, window_ns, self.messages, gaps)

    def used(self, work: Work) -> int:
        """Rows that are part of a delivery, or a copy on a link."""
        parts = work.do(lambda: self.deliveries.selectExpr("sum(records)").first())[0] or 0
        return int(parts) + int(work.do(lambda: self.hops.filter(is_copy()).count()))

    def duplicates(self, work: Work) -> int:
        """Rows that were there before."""
        return int(work.do(self.copies.count))


@dataclass(frozen=True, slots=True)
class Way:
    """How deliveries are written, and from which rows."""

    write: Callable[[Path], None]
    hops: DataFrame
    duplicates: DataFrame


def delivered(work: Work, rows: Rows, folder: Path) -> Delivered:
    """Write the deliveries of good rows, and their messages beside them."""
    way, beside = way_of(work, rows), folder.with_name(MESSAGES)
    work.all([partial(way.write, folder), partial(work.write, messages(way.hops), beside)])
    deliveries, seen = (work.spark.read.parquet(literal(place)) for place in (folder, beside))
    return Delivered(deliveries, seen, way.hops, way.duplicates)


def way_of(work: Work, rows: Rows) -> Way:
    """File by file, if nearly all deliveries are of one row each; else in Spark."""
    stretches: list[Stretch] = work.do(lambda: stretches_of(rows.files))
    pairs = work.do(lambda: pairs_among(work.spark, stretches, rows.slices, rows.most))
    if pairs is not None:
        return Way(partial(write_filewise, work, rows, stretches, pairs), rows.frame, none_of(rows.frame))
    found = work.do(lambda: silver(rows.frame, rows.most))
    return Way(partial(work.write, found.deliveries), found.hops, found.duplicates)


def write_filewise(work: Work, rows: Rows, stretches: list[Stretch], pairs: Hashes, folder: Path) -> None:
    """Those of one row each, then those of two."""
    aside = folder.with_name(ASIDE)
    for place in (folder, aside):
        remove(place)
    work.do(lambda: write_passing(work.spark, stretches, rows.slices, pairs, folder, aside))
    if len(pairs) or not any(folder.glob("*.parquet")):  # without any rows there is a file still
        schema = bronze.schema().add(bronze.WALL, "long")
        two = work.spark.read.schema(schema).parquet(literal(aside)).filter(~is_copy())
        work.do(lambda: told(of_two(two)).repartition(1).write.mode("append").parquet(str(folder)))
    remove(aside)
