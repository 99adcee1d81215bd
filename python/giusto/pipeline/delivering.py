"""From good rows to what the tables are made of: deliveries, written once and read by every table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.linking import literal
from giusto.pipeline.tables.silver import Silver, is_copy, silver
from giusto.pipeline.tables.table import Inputs
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Delivered:
    """Deliveries that were written, and how many rows they are made of."""

    found: Silver
    deliveries: DataFrame

    def inputs(self, facts: DataFrame | None, window_ns: int) -> Inputs:
        """For tables."""
        return Inputs(self.deliveries, self.found.hops, facts, window_ns)

    def used(self, work: Work) -> int:
        """Rows that are part of a delivery, or a copy on a link."""
        parts = work.do(lambda: self.deliveries.selectExpr("sum(records)").first())[0] or 0
        return int(parts) + int(work.do(lambda: self.found.hops.filter(is_copy()).count()))

    def duplicates(self, work: Work) -> int:
        """Rows that were there before."""
        return int(work.do(self.found.duplicates.count))


def delivered(work: Work, rows: DataFrame, folder: Path) -> Delivered:
    """Write the deliveries of good rows."""
    found = work.do(lambda: silver(rows))
    work.write(found.deliveries, folder)
    return Delivered(found, work.spark.read.parquet(literal(folder)))
