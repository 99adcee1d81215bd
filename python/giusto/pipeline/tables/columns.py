"""The columns of records as they are in a file, for who looks at many rows at once without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from giusto.pipeline.tables.files import COLUMNS
from giusto.pipeline.tables.table import SLICE_NS

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = dict[str, Any]
Slices = Mapping[str, tuple[int, int]]
NAMES = pa.dictionary(pa.int32(), pa.string())
"""Names are few: each is kept once, and rows say which."""
KINDS = {
    "string": NAMES,
    "integer": pa.int32(),
    "long": pa.int64(),
    "byte": pa.int8(),
    "double": pa.float64(),
}


def columns_of(batch: pa.RecordBatch, names: Iterable[str] = COLUMNS) -> Columns:
    """Columns by name; one that the file does not have is empty."""
    known = dict(zip(batch.schema.names, batch.columns, strict=True))
    return {name: column_of(known.get(name), KINDS[COLUMNS[name]], batch.num_rows) for name in names}


def column_of(found: pa.Array | None, kind: pa.DataType, rows: int) -> pa.Array:
    """One column, in the form in which it is used here."""
    if found is None:
        return pa.nulls(rows, kind)
    if found.type == kind:
        return found
    # Of names there are other forms: texts as they are, or long ones.
    texts = found.dictionary_decode() if pa.types.is_dictionary(found.type) else found
    return texts.cast(pa.string()).dictionary_encode()


def taken(columns: Columns, rows: NDArray[np.bool_]) -> Columns:
    """The rows for which it is true."""
    if rows.all():
        return columns
    mask = pa.array(rows)
    return {name: column.filter(mask) for name, column in columns.items()}


def is_known(column: pa.Array) -> NDArray[np.bool_]:
    """Where a column has a value."""
    found: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def is_named(column: pa.Array, name: str) -> NDArray[np.bool_]:
    """Where a column has this name."""
    number = next((n for n, each in enumerate(column.dictionary.to_pylist()) if each == name), -1)
    found: NDArray[np.bool_] = numbers_of(column) == number
    return found


def numbers_of(column: pa.Array) -> NDArray[np.int64]:
    """Which name each row has; those without have the number after the last."""
    nothing = len(column.dictionary)
    found: NDArray[np.int64] = column.indices.fill_null(nothing).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


def is_seen_by_subscriber(columns: Columns) -> NDArray[np.bool_]:
    """As `repeated.is_endpoint`."""
    found = is_known(columns["subscriber"]) & is_known(columns["t_received_ns"])
    return found & ~is_known(columns["t_selected_ns"]) & ~is_known(columns["t_egress_ns"])


def is_in(columns: Columns, slices: Slices | None) -> NDArray[np.bool_]:
    """Whether rows are of some slices of their runs, from the first up to but without the second."""
    if slices is None:
        return np.ones(len(columns["run"]), np.bool_)
    runs = [name or "" for name in columns["run"].dictionary.to_pylist()]
    limits = np.array([slices.get(run, (0, 0)) for run in [*runs, ""]], np.int64)[numbers_of(columns["run"])]
    number = columns["t_sent_ns"].to_numpy(zero_copy_only=False) // SLICE_NS
    found: NDArray[np.bool_] = (number >= limits[:, 0]) & (number < limits[:, 1])
    return found
