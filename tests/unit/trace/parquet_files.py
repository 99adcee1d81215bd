"""Files of records in memory, as the writer makes them, and tables that can be compared."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa

from giusto import _core

Records = _core.Batch | _core.Portion
Groups = Sequence[Sequence[Records]]


def file_of(groups: Groups) -> io.BytesIO:
    return file_by(_core.RecordEncoder(), groups)


def file_by(encoder: _core.RecordEncoder, groups: Groups) -> io.BytesIO:
    data = b"".join(group_of(encoder, records) for records in groups)
    assert encoder.rows == sum(len(each) for records in groups for each in records)
    return io.BytesIO(data + encoder.end([("said", "so")]))


def group_of(encoder: _core.RecordEncoder, records: Sequence[Records]) -> bytes:
    for each in records:
        encoder.add(each)
    assert encoder.waiting == sum(map(len, records))
    return encoder.group()


def plain(table: pa.Table) -> pa.Table:
    """Without dictionaries, which another reader need not see."""
    types = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(types)).replace_schema_metadata(None)
