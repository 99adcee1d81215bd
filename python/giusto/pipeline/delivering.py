"""From good rows to what tables are made of: deliveries, messages and tallies, written once for all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.judging import read
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
    """Deliveries, messages and tallies that were written; of how many rows, and how many were violations."""

    found: Silver
    deliveries: DataFrame
    messages: DataFrame
    tallies: DataFrame
    records: int
    violations: int

    def inputs(self, facts: DataFrame | None, window_ns: int) -> Inputs:
        """For tables."""
        return Inputs(
            self.deliveries,
            self.found.hops,
            facts,
            window_ns,
            self.messages,
            self.tallies,
            may_violate=self.violations > 0,
        )

    def used(self, work: Work) -> int:
        """Rows that are part of a delivery, or a copy on a link."""
        return self.records + int(work.do(lambda: self.found.hops.filter(is_copy()).count()))

    def duplicates(self, work: Work) -> int:
        """Rows that were there before."""
        return int(work.do(self.found.duplicates.count))


def delivered(work: Work, rows: DataFrame, folder: Path, most: int | None = None) -> Delivered:
    """Write the deliveries of good rows, `most` of them or fewer, and beside them messages and tallies."""
    found = work.do(lambda: silver(rows, most))
    frames = {folder: found.deliveries, folder.with_name(MESSAGES): messages(found.hops)}
    work.all(partial(work.write, frame, place) for place, frame in frames.items())
    deliveries, seen = (work.read(place.name, [place]) for place in frames)
    counted = folder.with_name(TALLIES)
    work.write(tallies(deliveries).coalesce(1), counted)
    sums = read(counted, "records", "violations")
    return Delivered(
        found,
        deliveries,
        seen,
        work.read(TALLIES, [counted]).coalesce(1),
        *(sum(row[name] for row in sums) for name in ("records", "violations")),
    )
