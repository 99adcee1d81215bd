"""Which rows of a block somebody asked for: by topic and by content, with the matcher of the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from giusto import _core

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Choice:
    """Topics that `pattern` covers, with attributes that satisfy `filter`; none of them: everything."""

    pattern: str | None = None
    filter: _core.Filter | None = None

    def of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that are asked for, in their order."""
        if self.pattern is not None:
            rows = self._covered(rows, self.pattern)
        if self.filter is not None and rows.num_rows:
            rows = self._satisfied(rows, self.filter)
        return rows

    def _covered(self, rows: pa.RecordBatch, pattern: str) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        topics = pc.unique(rows.column("topic"))
        wanted = [topic for topic in topics.to_pylist() if _core.topic_matches(pattern, topic)]
        if len(wanted) == len(topics):
            return rows
        return rows.filter(pc.is_in(rows.column("topic"), pa.array(wanted, pa.string())))

    def _satisfied(self, rows: pa.RecordBatch, filter: _core.Filter) -> pa.RecordBatch:
        import pyarrow as pa

        blocks = rows.column("attributes").to_pylist()
        return rows.filter(pa.array([filter.matches(one or {}) for one in blocks], pa.bool_()))


EVERYTHING = Choice()
