"""A batch: all rows that a log has when the read is planned."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from giusto.pipeline.source import ranges
from giusto.pipeline.source.inaline import in_a_line
from giusto.pipeline.source.options import Options
from giusto.pipeline.source.pushed import Span, taken
from giusto.pipeline.source.remote import Remote
from giusto.pipeline.source.rows import for_spark
from giusto.retain.requests import Fetch

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("giusto.pipeline")


@dataclass
class RangePartition(InputPartition):
    """What one task reads."""

    fetch: Fetch


def partitions_of(
    log: str, start: int, end: int, pattern: str, options: Options, query: str | None = None
) -> list[RangePartition]:
    """A range of a log for several tasks."""
    asked = Fetch(
        log, start, end, pattern, options.filter, query=query, skips_damage=not options.fails_on_loss
    )
    return [
        RangePartition(msgspec.structs.replace(asked, start=first, end=last))
        for first, last in ranges.split(start, end, options.partitions)
    ]


@in_a_line
class TopicReader(DataSourceReader):
    """Reads the log that has the topics."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._span = Span()

    def partitions(self) -> Sequence[InputPartition]:
        """The range, split."""
        log = Remote(self._options).find(self._options.pattern)
        start = max(ranges.first_of(self._options, log), self._span.start)
        end = max(start, min(log.head, log.head if self._span.end is None else self._span.end))
        return partitions_of(log.id, start, end, self._span.topic or self._options.pattern, self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part, fetched by whoever runs the task."""
        if not isinstance(partition, RangePartition):
            return iter(())  # Spark makes a task of its own where there is nothing to read
        return for_spark(Remote(self._options).fetch(partition.fetch))


@in_a_line
class PushingReader(TopicReader):
    """The same, answering conditions on positions and topics itself.

    Spark refuses it unless `spark.sql.python.filterPushdown.enabled` is set.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's name)
        """Take what can be answered where the log is; the rest is left to Spark."""
        for one in filters:
            span = taken(one, self._span, self._options.pattern)
            if span is None:
                yield one
            else:
                self._span = replace(span)
