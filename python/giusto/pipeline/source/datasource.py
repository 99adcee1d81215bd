"""The format `giusto`: which reader or writer Spark gets for what the caller said."""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from giusto.pipeline.source import records, rows
from giusto.pipeline.source.checking import require_sink, require_source
from giusto.pipeline.source.inaline import in_a_line
from giusto.pipeline.source.options import READING, WRITING, parsed, require_names
from giusto.pipeline.source.outgoing import Layout, layout_of
from giusto.pipeline.source.reader import PushingReader, TopicReader
from giusto.pipeline.source.records import RecordReader, RecordStream
from giusto.pipeline.source.stream import TopicStream
from giusto.pipeline.source.volatile import VolatileStream
from giusto.pipeline.source.writer import TopicStreamWriter, TopicWriter


@in_a_line
class GiustoDataSource(DataSource):
    """Topics of a broker, for `spark.read`, `spark.readStream`, `df.write` and `df.writeStream`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        require_names(options, dict.fromkeys((*READING, *WRITING)), "the source or the sink")
        self._parsed = parsed(options)

    @classmethod
    def name(cls) -> str:
        """What `format` is called with."""
        return "giusto"

    def schema(self) -> str:
        """The columns that are read. Spark asks for them in `load`: what cannot be read is refused there."""
        require_names(self.options, READING, "the source")
        require_source(self._parsed)
        return records.ddl() if self._parsed.is_records else rows.SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """For a batch."""
        if self._parsed.is_records:
            return RecordReader(self._parsed)
        return PushingReader(self._parsed) if self._parsed.pushes else TopicReader(self._parsed)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """For a stream."""
        if self._parsed.is_records:
            return RecordStream(self._parsed)
        return VolatileStream(self._parsed) if self._parsed.is_volatile else TopicStream(self._parsed)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """For a batch."""
        return TopicWriter(self._parsed, self._layout(schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """For a stream."""
        return TopicStreamWriter(self._parsed, self._layout(schema))

    def _layout(self, schema: StructType) -> Layout:
        """What a sink writes; what can be refused before the first task runs is refused."""
        require_names(self.options, WRITING, "the sink")
        layout = layout_of(schema, self._parsed.topic)
        require_sink(self._parsed)
        return layout
