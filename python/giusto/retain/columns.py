"""The columns of a retained row, and how messages become rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from giusto import _core

if TYPE_CHECKING:
    import pyarrow as pa

POSITION = "position"
RECEIVED_AT = "received_at"


@cache
def kept() -> pa.Schema:
    """What a block holds; attributes as the block of bytes that they are on the wire."""
    import pyarrow as pa

    # All of them can be null to Arrow, as Spark's columns can: it compares the two.
    fields = [
        ("topic", pa.string()),
        ("publisher", pa.string()),
        ("sequence", pa.int64()),
        ("priority", pa.int8()),
        ("t_intended_ns", pa.int64()),
        ("t_sent_ns", pa.int64()),
        ("t_received_ns", pa.int64()),
        ("attributes", pa.binary()),
        ("payload", pa.binary()),
    ]
    return pa.schema(fields)


@cache
def fetched() -> pa.Schema:
    """The same with what the block says of its rows: where they are, and when by the wall clock."""
    import pyarrow as pa

    before, at = pa.field(POSITION, pa.int64()), pa.field(RECEIVED_AT, pa.timestamp("us", tz="UTC"))
    return pa.schema([before, *kept(), at])


def rows_of(messages: Sequence[_core.Message]) -> pa.RecordBatch:
    """Messages as rows, in their order."""
    import pyarrow as pa

    columns = [
        pa.array([one.topic for one in messages], pa.string()),
        pa.array([one.source for one in messages], pa.string()),
        pa.array([one.sequence for one in messages], pa.uint64()).view(pa.int64()),
        pa.array([one.priority for one in messages], pa.int8()),
        pa.array([one.intended_ns for one in messages], pa.int64()),
        pa.array([one.sent_ns for one in messages], pa.int64()),
        pa.array([one.received_ns for one in messages], pa.int64()),
        pa.array([one.attribute_block for one in messages], pa.binary()),
        pa.array([one.payload for one in messages], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=kept())


def attributes_block(attributes: dict[str, Any]) -> bytes:
    """Attributes as on the wire; no bytes for none."""
    return _core.encode_attributes(attributes) if attributes else b""


def placed(rows: pa.RecordBatch, first: int, wall_offset_ns: int) -> pa.RecordBatch:
    """The rows of a block with their positions and instants."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ones = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
    positions = pc.cumulative_sum(ones, start=first - 1)  # a Python number for each row would take longest
    wall_us = pc.divide(pc.add(rows.column("t_received_ns"), wall_offset_ns), 1_000)
    at = wall_us.cast(pa.timestamp("us", tz="UTC"))
    return pa.RecordBatch.from_arrays([positions, *rows.columns, at], schema=fetched())


def encode(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> bytes:
    """Batches as one stream of Arrow."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def decode(data: bytes) -> pa.Table:
    """What `encode` made."""
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
