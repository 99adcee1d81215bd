"""What records do not say, as a stream knows it: facts files are read when they are new, and not again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.pipeline.streaming.intake import mark
from giusto.pipeline.tables import bronze

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = "facts"
Mark = list[int] | None


@dataclass(slots=True)
class Facts:
    """The facts beside some records."""

    spark: SparkSession
    records: Path
    known: dict[Path, tuple[Mark, list[tuple[Any, ...]]]] = field(default_factory=dict)
    _frame: DataFrame | None = None
    changes: int = 0

    def frame(self) -> DataFrame | None:
        """As `bronze.facts`."""
        if self.look():
            rows = [row for _, (_, rows) in sorted(self.known.items()) for row in rows]
            self._frame = self.spark.createDataFrame(rows, bronze.FACTS) if rows else None
        return self._frame

    def look(self) -> bool:
        """Whether there are others than there were."""
        found = {}
        for path in sorted((self.records / FOLDER).glob("*.json")):
            seen = mark(path)
            before = self.known.get(path)
            is_same = before is not None and before[0] == seen
            found[path] = before if before is not None and is_same else (seen, bronze.fact_rows(path))
        is_new = found != self.known
        self.known = found
        self.changes += is_new
        return is_new
