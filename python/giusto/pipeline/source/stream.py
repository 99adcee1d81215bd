"""Micro-batches of retained topics: offsets are positions, so every message is in one batch, and in one only.

The checkpoint says how far a query came. After a crash Spark asks for the same range again, and the log has
the same rows there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from giusto.errors import NotRetained
from giusto.pipeline.source import ranges, remote
from giusto.pipeline.source.inaline import in_a_line
from giusto.pipeline.source.options import Options
from giusto.pipeline.source.reader import RangePartition, partitions_of
from giusto.pipeline.source.remote import Remote
from giusto.pipeline.source.rows import for_spark

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("giusto.pipeline")


def default_limit(options: Options) -> ReadLimit:
    """What one batch takes unless the trigger says otherwise."""
    return ReadAllAvailable() if options.max_rows is None else ReadMaxRows(options.max_rows)


@in_a_line
class TopicStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the log that has the topics."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._remote = Remote(options)
        self._target: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's names here and below)
        """Where a new query begins."""
        return ranges.initial(self._options, self._remote.find(self._options.pattern))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The option `maxRowsPerTrigger`."""
        return default_limit(self._options)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Go no further than the log is now."""
        self._target = self._remote.find(self._options.pattern).head

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next batch ends."""
        ranges.require_ours(start, self._options)
        log = self._remote.head(start["log"])
        self._require_kept(int(start["position"]), log.first, log.pattern)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return ranges.reached(start, log, most, self._target)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The range of a batch, split."""
        ranges.require_ours(start, self._options)
        first, last = int(start["position"]), int(end["position"])
        if first >= last:
            return []
        log = self._remote.head(start["log"])
        self._require_kept(first, log.first, log.pattern)
        begin = min(max(first, log.first), last)
        return partitions_of(log.id, begin, last, self._options.pattern, self._options, start["query"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part, fetched by whoever runs the task."""
        assert isinstance(partition, RangePartition)
        return for_spark(Remote(self._options).fetch(partition.fetch))

    def commit(self, end: dict[str, Any]) -> None:
        """Let the log know what will not be asked for again."""
        self._remote.commit(end["log"], end["query"], int(end["position"]))

    def stop(self) -> None:
        """Close the connection."""
        remote.forget(self._options.url)

    def _require_kept(self, position: int, first: int, pattern: str) -> None:
        if position >= first:
            return
        problem = f"positions {position} to {first - 1} were removed before the query read them"
        if self._options.fails_on_loss:
            raise NotRetained(pattern, f"{problem}; failOnDataLoss=false goes on without them")
        _log.warning("%s: %s", pattern, problem)
