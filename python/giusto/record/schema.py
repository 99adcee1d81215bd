"""Which columns a record has, in which version, and how batches of them become Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from giusto import _core
from giusto.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = _core.RECORD_VERSION
VERSION_KEY = b"giusto.record.version"


class Outcome(StrEnum):
    """What became of a message for one subscription."""

    DELIVERED = "delivered"
    LATE = "late"
    EXPIRED = "expired"
    POLICED = "policed"
    OVERFLOW = "overflow"
    LOST = "lost"


def to_arrow(batch: _core.Batch) -> pa.RecordBatch:
    """The batch as Arrow sees it; the integer columns are not copied."""
    import pyarrow as pa

    return pa.record_batch(batch)


def to_table(batches: Iterable[_core.Batch]) -> pa.Table:
    """Batches one after the other, under one dictionary per column."""
    import pyarrow as pa

    return pa.Table.from_batches(map(to_arrow, batches), schema()).unify_dictionaries()


@cache
def schema() -> pa.Schema:
    """The Arrow schema of this version, as the native core produces it."""
    import pyarrow as pa

    return pa.schema(_core.Columns(1).drain())


def require_version(found: pa.Schema) -> None:
    """Raise `InvalidInput` unless `found` says that its records are of this version or of an earlier one."""
    version = (found.metadata or {}).get(VERSION_KEY, b"none").decode(errors="replace")
    if version not in map(str, range(1, VERSION + 1)):
        expected = f"1 to {VERSION}: the records were made by another giusto"
        raise InvalidInput("record version", version, expected)
