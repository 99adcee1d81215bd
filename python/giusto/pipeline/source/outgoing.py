"""Rows of Spark as rows that are published: which columns there are, and what they become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from giusto.errors import InvalidInput, Missing
from giusto.retain import columns
from giusto.retain.staged import require_priorities, require_sizes, require_topic, schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

PART_BYTES = 500_000
KINDS = {
    "topic": (("string",), "string"),
    "payload": (("binary", "string"), "binary or string: cast it, or to_json(struct(...))"),
    "attributes": (("map", "struct"), "map or struct"),
    "priority": (("byte", "short", "integer", "long"), "a whole number"),
}
"""What a column may be, for Spark and for people."""


@dataclass(frozen=True, slots=True)
class Layout:
    """`topic` if all rows go to one; otherwise a column says which."""

    topic: str | None
    columns: tuple[str, ...]


def layout_of(schema: StructType, topic: str | None) -> Layout:
    """Check the columns of what is to be written; an error names the column."""
    kinds = {one.name: one.dataType.typeName() for one in schema.fields}
    unknown = [name for name in kinds if name not in KINDS]
    if unknown:
        raise InvalidInput("column", ", ".join(unknown), f"only {', '.join(KINDS)}; select them")
    _require_one_topic("topic" in kinds, topic)
    for name, kind in kinds.items():
        allowed, said = KINDS[name]
        if kind not in allowed:
            raise InvalidInput(f"column {name}", kind, said)
    if "payload" not in kinds:
        raise Missing("column payload", "a column payload: binary or string")
    return Layout(None if "topic" in kinds else topic, tuple(kinds))


def _require_one_topic(is_column: bool, option: str | None) -> None:
    if not is_column and option is None:
        raise Missing("column topic", "a column topic, or the option topic")
    if is_column and option is not None:
        raise InvalidInput("option topic", option, "none beside a column topic: drop one of them")
    if option is not None:
        require_topic(option, "option topic")


def parts(batches: Iterator[pa.RecordBatch], layout: Layout) -> Iterator[tuple[int, bytes]]:
    """All rows in parts that fit into one request each, with the number of their rows."""
    for batch in batches:
        rows = converted(batch, layout)
        if rows.num_rows:
            yield from _divided(rows)


def _divided(rows: pa.RecordBatch) -> Iterator[tuple[int, bytes]]:
    if rows.nbytes <= PART_BYTES or rows.num_rows == 1:
        yield rows.num_rows, columns.encode([rows], schema())
        return
    middle = rows.num_rows // 2
    yield from _divided(rows.slice(0, middle))
    yield from _divided(rows.slice(middle))


def converted(batch: pa.RecordBatch, layout: Layout) -> pa.RecordBatch:
    """Rows with the columns that are staged; what cannot be published is refused here, in the task."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = batch.num_rows
    topic = pa.repeat(layout.topic, rows) if layout.topic is not None else batch.column("topic")
    payload = batch.column("payload").cast(pa.binary())
    priority = batch.column("priority") if "priority" in layout.columns else pa.repeat(0, rows)
    attributes = batch.column("attributes") if "attributes" in layout.columns else None
    for name, column in (("topic", topic), ("payload", payload), ("priority", priority)):
        if column.null_count:
            raise InvalidInput(f"column {name}", "null", "a value in every row")
    for name in pc.unique(topic).to_pylist():
        require_topic(name)
    require_priorities(priority)
    blocks = [_block(one) for one in attributes.to_pylist()] if attributes is not None else [b""] * rows
    made = [topic, payload, priority.cast(pa.int8()), pa.array(blocks, pa.binary())]
    require_sizes(payload, made[-1])
    return pa.RecordBatch.from_arrays(made, schema=schema())


def _block(given: Any) -> bytes:
    """A map or a struct as a block of attributes; nulls are left out."""
    named = dict(given or {})
    return columns.attributes_block({name: value for name, value in named.items() if value is not None})
