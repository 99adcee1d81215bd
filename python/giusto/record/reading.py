"""Which files hold records, and what is in them: for Arrow, pandas or Polars, without Spark.

What cannot be read is named, never left out in silence: the first such file raises, or all are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from giusto.errors import InvalidInput, NotInstalled
from giusto.record.schema import require_version, schema

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".parquet", ".arrow")


class Unread(NamedTuple):
    """A file that could not be read, and why."""

    path: Path
    reason: str


def read(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    as_: str = "arrow",
    unread: list[Unread] | None = None,
) -> Any:
    """The records of a trace folder, of a folder of files or of one file, in the columns of this version.

    It is an Arrow table, or a DataFrame of `pandas` or `polars`. A column that a file has not is missing in
    its rows; what this version does not know is left out. A file that is not of records, broken, or of a
    later version raises `InvalidInput`; given a list `unread`, it is added there and the others are read.
    """
    wanted = _wanted(columns)
    present = _presented(as_)
    tables = [_table(file, wanted, unread) for file in files(path)]
    return present(_together([table for table in tables if table is not None], wanted))


def files(path: str | Path) -> list[Path]:
    """The files that hold the records of a trace folder, of a folder or of a file, by name."""
    where = Path(path)
    if where.is_file() or (where.is_symlink() and not where.exists()):
        return [where]
    if not where.is_dir():
        raise InvalidInput("path", path, "a trace folder, a folder of Parquet files, or a file that exists")
    folder = where / "records" if (where / "records").is_dir() else where
    return sorted(file for file in folder.iterdir() if _is_finished(file))


def _is_finished(file: Path) -> bool:
    return file.suffix in SUFFIXES and not file.name.startswith(".")


def _wanted(columns: Sequence[str] | None) -> pa.Schema:
    """The schema of the columns that are asked for."""
    import pyarrow as pa

    known = schema()
    if columns is None:
        return known
    for name in columns:
        if name not in known.names:
            raise InvalidInput("columns", name, f"of {', '.join(known.names)}")
    return pa.schema([known.field(name) for name in columns], metadata=known.metadata)


def _table(file: Path, wanted: pa.Schema, unread: list[Unread] | None) -> pa.Table | None:
    try:
        return _read(file, wanted)
    except InvalidInput as error:
        if unread is None:
            raise
        unread.append(Unread(file, f"{str(error.value).rstrip('.')}: expected {error.expected}"))
        return None


def _read(file: Path, wanted: pa.Schema) -> pa.Table:
    import pyarrow as pa

    try:
        found, load = _opened(file)
        require_version(found)
        table = load([name for name in wanted.names if name in found.names])
        return _in_schema(table, wanted)
    except InvalidInput as error:
        raise InvalidInput(str(file), f"{error.field} {error.value}", error.expected) from None
    except (pa.ArrowException, OSError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInput(str(file), reason, "a whole file of records") from None


def _opened(file: Path) -> tuple[pa.Schema, Any]:
    """The schema of a file, and what reads some of its columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.suffix == ".arrow":
        with pa.OSFile(str(file)) as source:
            table = pa.ipc.open_file(source).read_all()
        return table.schema, table.select
    parquet = pq.ParquetFile(file)
    return parquet.schema_arrow, lambda names: parquet.read(columns=names)


def _in_schema(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The columns that are asked for, in their types; what the file has not is missing if it may be."""
    import pyarrow as pa

    arrays = []
    for field in wanted:
        if field.name in table.column_names:
            arrays.append(table[field.name].cast(field.type))
        elif field.nullable:
            arrays.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)], field.type))
        else:
            raise InvalidInput("column", field.name, "among its columns: it is no file of records")
    return pa.Table.from_arrays(arrays, schema=wanted)


def _together(tables: Iterable[pa.Table], wanted: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables([wanted.empty_table(), *tables]).unify_dictionaries()


def _presented(as_: str) -> Any:
    """What makes of a table what is asked for."""
    if as_ == "arrow":
        return lambda table: table
    if as_ == "pandas":
        _require("pandas")
        return lambda table: table.to_pandas()
    if as_ == "polars":
        _require("polars")
        return import_module("polars").from_arrow
    raise InvalidInput("as_", as_, "arrow, pandas or polars")


def _require(package: str) -> None:
    if find_spec(package) is None:
        raise NotInstalled(package, f"pip install {package}")
