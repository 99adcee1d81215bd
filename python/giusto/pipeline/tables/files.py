"""Which record files are read: whole Parquet files of a known version, each of them once.

A file is looked at by its footer alone, before Spark sees it: one that Spark stumbles over would end the
whole job.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.errors import InvalidInput
from giusto.record import VERSION, VERSION_KEY

if TYPE_CHECKING:
    import pyarrow as pa

TRACE_KEY = b"giusto.trace"
RECORDS = "records"
SUFFIX = ".parquet"
MAGIC = b"PAR1"
# Beyond this an instant is not one of any clock that runs since a start, or since 1970.
LATEST_NS = 1 << 62
# By name: what the values of a column are, whatever way they are stored.
COLUMNS: dict[str, str] = {
    "run": "string",
    "node": "string",
    "hop": "integer",
    "topic": "string",
    "publisher": "string",
    "subscriber": "string",
    "sequence": "long",
    "size_bytes": "long",
    "priority": "byte",
    "t_intended_ns": "long",
    "t_sent_ns": "long",
    "t_ingress_ns": "long",
    "t_selected_ns": "long",
    "t_egress_ns": "long",
    "t_received_ns": "long",
    "clock_error_ns": "long",
    "min_sep_ns": "long",
    "deadline_ns": "long",
    "bound_ns": "long",
    "price": "double",
    "penalty": "double",
    "outcome": "string",
    "subscription": "long",
}
# Columns that came after version 1: a file may be without them.
LATER = frozenset({"subscription"})


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A file that is read; `key` is its run, node and number, if it says them.

    It has one message in `sampling`.
    """

    path: Path
    rows: int
    key: tuple[str, str, int] | None = None
    wall_offset_ns: int | None = None
    sampling: int = 1


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file that is not read, and why; how many rows it has, if that can be known."""

    path: Path
    reason: str
    detail: str
    rows: int | None = None

    @property
    def name(self) -> str:
        """What it is called, as a text also if it is none."""
        return os.fsencode(self.path.name).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Inspected:
    """All files that were looked at."""

    good: tuple[RecordFile, ...] = ()
    bad: tuple[BadFile, ...] = ()


@dataclass
class Inspector:
    """Looks at files one after the other, and knows the ones it has seen: a copy is not read again."""

    seen: dict[tuple[str, str, int], Path] = field(default_factory=dict)

    def inspect(self, paths: Iterable[Path]) -> Inspected:
        """Good files and bad ones, in the given order."""
        found = [self.look(path) for path in paths]
        return Inspected(
            tuple(each for each in found if isinstance(each, RecordFile)),
            tuple(each for each in found if isinstance(each, BadFile)),
        )

    def look(self, path: Path) -> RecordFile | BadFile:
        """One file; a copy of one that was seen is bad."""
        found = looked_at(path)
        if isinstance(found, BadFile) or found.key is None:
            return found
        first = self.seen.setdefault(found.key, path)
        if first != path:
            return BadFile(path, "duplicate file", f"a copy of {first.name}", found.rows)
        return found


def record_files(path: Path) -> list[Path]:
    """The Parquet files of a trace folder or of any other, by name; or the one file that is named."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInput("records", str(path), "a folder or a Parquet file with records")
    folder = path / RECORDS if (path / RECORDS).is_dir() else path
    # Names that begin with a dot or _ are of files that are being written, or no data.
    return sorted(each for each in folder.iterdir() if each.suffix == SUFFIX and each.name[0] not in "._")


def looked_at(path: Path) -> RecordFile | BadFile:
    """What a file's footer says."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        begins_well = MAGIC.startswith(head(path))
        with pq.ParquetFile(path) as file:
            schema, footer = file.schema_arrow, file.metadata
            # Arrow's schema, where a file has one, hides what else the footer says.
            said = {**(schema.metadata or {}), **(footer.metadata or {})}
            return judged(path, schema.with_metadata(said), footer.num_rows)
    except UnicodeEncodeError:
        return BadFile(path, "unreadable", "its name is not UTF-8: rename it")
    except (pa.ArrowException, ValueError, OSError) as error:
        detail = (str(error) or type(error).__name__).splitlines()[0]
        # An error of the system has a number; Arrow's own, of a footer that makes no sense, has none.
        if isinstance(error, OSError) and error.errno is not None:
            return BadFile(path, "unreadable", detail)
        # It begins like Parquet, so its end is missing.
        return BadFile(path, "truncated" if begins_well else "foreign", detail)


def head(path: Path) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(len(MAGIC))


def judged(path: Path, schema: pa.Schema, rows: int) -> RecordFile | BadFile:
    """Whether a readable file has records of a version that is known."""
    metadata = schema.metadata or {}
    version = metadata.get(VERSION_KEY, b"").decode("utf-8", "replace")
    if version and not (version.isdecimal() and 1 <= int(version) <= VERSION):
        detail = f"version {version}, newest known is {VERSION}: use a newer giusto"
        return BadFile(path, "version", detail, rows)
    problem = column_problem(schema)
    if problem is not None:
        return BadFile(path, "foreign", problem, rows)
    trace = said(metadata.get(TRACE_KEY))
    sampling = max(1, whole(trace.get("sampling")) or 1)
    return RecordFile(path, rows, file_key(trace), instant(trace.get("wall_offset_ns")), sampling)


def column_problem(schema: pa.Schema) -> str | None:
    """Which column is missing or of another type, if one is; columns that nobody knows are not looked at."""
    for name, kind in COLUMNS.items():
        if name not in schema.names:
            if name in LATER:
                continue
            return f"no column {name}"
        found = spark_name(schema.field(name).type)
        if found != kind:
            return f"column {name} is {schema.field(name).type}, not {kind}"
    return None


def spark_name(kind: pa.DataType) -> str | None:
    """What Spark calls the values of an Arrow type, if a record has such values."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string"
    names = {pa.int8(): "byte", pa.int32(): "integer", pa.int64(): "long", pa.float64(): "double"}
    return names.get(kind)


def said(trace: bytes | None) -> dict[str, Any]:
    """What the writer says of a file; nothing if it says nothing that can be understood."""
    try:
        found = json.loads(trace or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def file_key(trace: dict[str, Any]) -> tuple[str, str, int] | None:
    """By what a file is known, whatever its name."""
    run, node, number = trace.get("run"), trace.get("node"), whole(trace.get("sequence"))
    if isinstance(run, str) and isinstance(node, str) and number is not None:
        return run, node, number
    return None


def instant(value: object) -> int | None:
    """An instant, or what is between two clocks, if a clock can show it."""
    found = whole(value)
    return found if found is not None and abs(found) < LATEST_NS else None


def whole(value: object) -> int | None:
    """A whole number, or nothing."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
