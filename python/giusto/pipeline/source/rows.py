"""Arrow as Spark wants it: attributes as a map of texts, batches of a useful size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from giusto import _core

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 10_000
"""Fewer rows in a batch cost Spark more than they save anybody."""
SCHEMA = (
    "position bigint, topic string, publisher string, sequence bigint, priority tinyint,"
    " t_intended_ns bigint, t_sent_ns bigint, t_received_ns bigint, attributes map<string,string>,"
    " payload binary, received_at timestamp"
)


@cache
def attributes_type() -> pa.DataType:
    """Texts by name."""
    import pyarrow as pa

    return pa.map_(pa.string(), pa.string())


def for_spark(fetched: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Rows of a log, in batches that are worth it."""
    for table in gathered(fetched):
        place = table.schema.get_field_index("attributes")
        yield table.set_column(place, "attributes", texts(table.column("attributes"))).to_batches()[0]


def gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Small tables put together; each has one chunk for a column."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count >= BATCH_ROWS:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, count = [], 0
    if count:
        yield pa.concat_tables(waiting).combine_chunks()


def texts(blocks: pa.ChunkedArray) -> pa.Array:
    """Blocks of attributes as maps of texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.max(pc.binary_length(blocks)).as_py():
        offsets = pa.repeat(pa.scalar(0, pa.int32()), len(blocks) + 1)
        nothing = pa.array([], pa.string())
        return pa.MapArray.from_arrays(offsets, nothing, nothing)
    # Each of them once: measured values and names of places are soon there again.
    encoded = blocks.combine_chunks().dictionary_encode()
    decoded = [_core.decode_attributes(one) if one else {} for one in encoded.dictionary.to_pylist()]
    pairs = [[(name, text(value)) for name, value in one.items()] for one in decoded]
    return pa.array(pairs, attributes_type()).take(encoded.indices)


def text(value: Any) -> str:
    """One value of an attribute: sets as JSON, instants as ISO 8601, all others as Python writes them."""
    if isinstance(value, frozenset | set):
        return json.dumps(sorted(value), ensure_ascii=False)
    if isinstance(value, datetime):
        return value.isoformat()
    return str(float(value)) if isinstance(value, _core.Float) else str(value)
