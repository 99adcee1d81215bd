"""The one record of every run, live or simulated: its columns, its version, its batches as Arrow.

`SCHEMA` is the Arrow schema that a batch of this version has. It is made on first use, because
Arrow is needed by whoever keeps records and by nobody else.

    table = record.read("trace", ["topic", "t_sent_ns"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.record.reading import Unread, files, read
from giusto.record.schema import VERSION, VERSION_KEY, Outcome, require_version, schema, to_arrow, to_table

if TYPE_CHECKING:
    import pyarrow as pa

    SCHEMA: pa.Schema

__all__ = [
    "SCHEMA",
    "VERSION",
    "VERSION_KEY",
    "Outcome",
    "Unread",
    "files",
    "read",
    "require_version",
    "schema",
    "to_arrow",
    "to_table",
]


def __getattr__(name: str) -> object:
    if name == "SCHEMA":
        return schema()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
