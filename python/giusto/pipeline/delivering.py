"""From good rows to what tables are made of: deliveries, messages and tallies, written once for all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.tables.selections import messages
from giusto.pipeline.tables.silver import Silver, is_copy, silver
from giusto.pipeline.tables.table import Inputs
from giusto.pipeline.tables.tally import tallies
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGES, TALLIES = "messages", "tallies"
"""Beside the deliveries, for the tables only: nobody keeps them."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """Deliveries, messages and tallies that were written, and how many rows they are made of."""

    found: Silver
    deliveries: DataFrame
    messages: DataFrame
    tallies: DataFrame

    def inputs(self, facts: DataFrame | None, window_ns: int) -> Inputs:
        """For tables."""
        return Inputs(self.deliveries, self.found.hops, facts, window_ns, self.messages, self.tallies)

    def used(self, work: Work) -> int:
        """Rows that are part of a delivery, or a copy on a link."""
        parts = work.do(lambda: self.tallies.selectExpr("sum(records)").first())[0] or 0
        return int(parts) + int(work.do(lambda: self.found.hops.filter(is_copy()).count()))

    def duplicates(self, work: Work) -> int:
        """Rows that were there before."""
        return int(work.do(self.found.duplicates.count))


def delivered(work: Work, rows: DataFrame, folder: Path) -> Delivered:
    """Write the deliveries of good rows, and beside them their messages and tallies."""
    found = work.do(lambda: silver(rows))
    frames = {folder: found.deliveries, folder.with_name(MESSAGES): messages(found.hops)}
    work.all(partial(work.write, frame, place) for place, frame in frames.items())
    deliveries, seen = (work.read(place.name, [place]) for place in frames)
    counted = folder.with_name(TALLIES)
    work.write(tallies(deliveries).coalesce(1), counted)
    return Delivered(found, deliveries, seen, work.read(TALLIES, [counted]).coalesce(1))
