"""The records of a tracing broker: whole files, fetched through the bus, by writer and number.

Offsets say how far each writer (a node in one of its runs) was read. Files of a writer are numbered, and
appear whole and in order.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from giusto import record
from giusto.errors import InvalidInput, NotRetained
from giusto.pipeline.source import remote
from giusto.pipeline.source.files import between, by_writer, reached
from giusto.pipeline.source.inaline import in_a_line
from giusto.pipeline.source.options import Options
from giusto.pipeline.source.remote import Remote

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS = {"string": "string", "int64": "bigint", "int32": "int", "int16": "smallint", "int8": "tinyint"}
_log = logging.getLogger("giusto.pipeline")


@cache
def plain_schema() -> pa.Schema:
    """The columns of a record without dictionaries, as Spark has them."""
    import pyarrow as pa

    def plain(kind: pa.DataType) -> pa.DataType:
        return pa.string() if pa.types.is_dictionary(kind) else kind

    return pa.schema([pa.field(one.name, plain(one.type)) for one in record.schema()])


def ddl() -> str:
    """The same for Spark."""
    return ", ".join(f"{one.name} {_KINDS.get(str(one.type), str(one.type))}" for one in plain_schema())


@dataclass
class FilePartition(InputPartition):
    """What one task reads."""

    name: str


def rows_of(body: bytes) -> Iterator[pa.RecordBatch]:
    """The records of a file; columns that its version does not have are null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(body))
    record.require_version(table.schema)
    columns = [
        table.column(one.name).cast(one.type)
        if one.name in table.column_names
        else pa.nulls(table.num_rows, one.type)
        for one in plain_schema()
    ]
    return iter(pa.table(columns, schema=plain_schema()).combine_chunks().to_batches())


@in_a_line
class RecordReader(DataSourceReader):
    """All records that there are when the read is planned."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """One task for each file."""
        return [FilePartition(one.name) for one in Remote(self._options).record_files()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a file."""
        if not isinstance(partition, FilePartition):
            return iter(())  # Spark makes a task of its own where there is nothing to read
        return rows_of(Remote(self._options).record_file(partition.name))


@in_a_line
class RecordStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Records as they are written, each file in one batch."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._remote = Remote(options)
        self._target: dict[str, dict[int, str]] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's names here and below)
        """From the oldest file on."""
        return {"records": {}}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The option `maxFilesPerTrigger`."""
        most = self._options.max_files
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read no files that are written later."""
        self._target = self._files()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next batch goes."""
        if "records" not in start:
            expected = "the checkpoint of a query on records; choose a new checkpointLocation"
            raise InvalidInput("checkpoint", "of a query on topics", expected)
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        files = self._files() if self._target is None else self._target
        return {"records": reached(start["records"], files, most)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One task for each file of the batch."""
        files, found = self._files(), []
        for writer, after, last in between(start["records"], end["records"]):
            there = files.get(writer, {})
            wanted = [number for number in there if after < number <= last]
            self._require_kept(writer, after, last, len(wanted))
            found += [FilePartition(there[number]) for number in sorted(wanted)]
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a file."""
        assert isinstance(partition, FilePartition)
        return rows_of(Remote(self._options).record_file(partition.name))

    def stop(self) -> None:
        """Close the connection."""
        remote.forget(self._options.url)

    def _files(self) -> dict[str, dict[int, str]]:
        return by_writer([one.name for one in self._remote.record_files()])

    def _require_kept(self, writer: str, after: int, last: int, found: int) -> None:
        """Files of a writer that were read from before, and are gone, are a loss."""
        if after < 0 or found == last - after:
            return
        lost = self._remote.records_written(writer, after, last) - found
        if lost <= 0:
            return
        problem = f"{lost} files were removed before the query read them"
        if self._options.fails_on_loss:
            raise NotRetained(f"records of {writer}", f"{problem}; failOnDataLoss=false goes on without them")
        _log.warning("records of %s: %s", writer, problem)
