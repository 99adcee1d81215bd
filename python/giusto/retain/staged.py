"""Whether rows that somebody wants to have published can be: their columns, topics, priorities and sizes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from giusto import _core
from giusto.contract.offer import SIZE_BYTES_DEFAULT
from giusto.errors import GiustoError, InvalidInput, TooLarge
from giusto.retain import columns

if TYPE_CHECKING:
    import pyarrow as pa

ROW_BYTES_MAX = SIZE_BYTES_DEFAULT - 8_192
"""Of a payload with its attributes: with its topic and what Arrow adds it fits into one request."""
PRIORITY_MAX = 7


@cache
def schema() -> pa.Schema:
    """The columns of a row."""
    import pyarrow as pa

    return pa.schema(
        [
            ("topic", pa.string()),
            ("payload", pa.binary()),
            ("priority", pa.int8()),
            ("attributes", pa.binary()),
        ]
    )


def checked(body: bytes) -> pa.Table:
    """The rows of an Arrow stream; `InvalidInput` says why they cannot be published."""
    rows = _decoded(body)
    if rows.schema != schema():
        raise InvalidInput("rows", ", ".join(rows.column_names), f"columns {', '.join(schema().names)}")
    for name in rows.column_names:
        if rows.column(name).null_count:
            raise InvalidInput(f"column {name}", "null", "a value in every row")
    for topic in rows.column("topic").unique().to_pylist():
        require_topic(topic)
    require_priorities(rows.column("priority"))
    for block in rows.column("attributes").unique().to_pylist():
        _require_attributes(block)
    require_sizes(rows.column("payload"), rows.column("attributes"))
    return rows


def _require_attributes(block: bytes) -> None:
    try:
        if block:
            _core.decode_attributes(block)
    except GiustoError as error:
        raise InvalidInput("column attributes", f"{len(block)} bytes", f"attributes: {error}") from None


def _decoded(body: bytes) -> pa.Table:
    import pyarrow as pa

    try:
        rows = columns.decode(body)
        # Offsets that lead out of the buffers would be followed otherwise.
        rows.validate(full=True)
        return rows
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput("rows", f"{len(body)} bytes", f"an Arrow stream: {error}") from None


def require_topic(name: str, field: str = "column topic") -> None:
    """Refuse what is not the name of a topic."""
    try:
        _core.topic_matches("#", name)
    except InvalidInput as error:
        raise InvalidInput(field, error.value, error.expected) from None


def require_priorities(column: pa.ChunkedArray | pa.Array) -> None:
    """Refuse priorities that there are not."""
    import pyarrow.compute as pc

    least, most = pc.min_max(column).as_py().values()
    if least is not None and not 0 <= least <= most <= PRIORITY_MAX:
        raise InvalidInput("column priority", f"{least} to {most}", f"0 (lowest) to {PRIORITY_MAX}")


def require_sizes(payload: pa.ChunkedArray | pa.Array, blocks: pa.ChunkedArray | pa.Array) -> None:
    """Refuse rows that do not fit into a message."""
    import pyarrow.compute as pc

    largest = pc.max(pc.add(pc.binary_length(payload), pc.binary_length(blocks))).as_py() or 0
    if largest > ROW_BYTES_MAX:
        raise TooLarge("column payload, with attributes", largest, ROW_BYTES_MAX)
