"""From good rows to what tables are made of: deliveries and messages, written once and read by all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.linking import literal
from giusto.pipeline.tables.selections import messages
from giusto.pipeline.tables.silver import Silver, is_copy, silver
from giusto.pipeline.tables.table import Inputs
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGES = "messages"
"""Beside the deliveries, for the tables only: nobody keeps them."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """Deliveries and messages that were written, and how many rows they are made of."""

    found: Silver
    deliveries: DataFrame
    messages: DataFrame

    def inputs(self, facts: DataFrame | None, window_ns: int) -> Inputs:
        """For tables."""
        return Inputs(self.deliveries, self.found.hops, facts, window_ns, self.messages)

    def used(self, work: Work) -> int:
        """Rows that are part of a delivery, or a copy on a link."""
        parts = work.do(lambda: self.deliveries.selectExpr("sum(records)").first())[0] or 0
        return int(parts) + int(work.do(lambda: self.found.hops.filter(is_copy()).count()))

    def duplicates(self, work: Work) -> int:
        """Rows that were there before."""
        return int(work.do(self.found.duplicates.count))


def delivered(work: Work, rows: DataFrame, folder: Path, most: int | None = None) -> Delivered:
    """Write the deliveries of good rows, `most` of them or fewer, and their messages beside them."""
    found = work.do(lambda: silver(rows, most))
    frames = {folder: found.deliveries, folder.with_name(MESSAGES): messages(found.hops)}
    work.all(partial(work.write, frame, place) for place, frame in frames.items())
    read = (work.spark.read.parquet(literal(place)) for place in frames)
    return Delivered(found, *read)
