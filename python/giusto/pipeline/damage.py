"""Whether a file can be read to its end: a footer may be whole where a page before it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.pipeline.tables.files import COLUMNS, BadFile, RecordFile

if TYPE_CHECKING:
    import pyarrow as pa

CORRUPT = "corrupt"
Look = Callable[["pa.RecordBatch"], object]


def checked(file: RecordFile | BadFile, look: Look | None = None) -> RecordFile | BadFile:
    """A file, which is bad if some of it cannot be read; `look` sees all of it."""
    if isinstance(file, BadFile):
        return file
    problem = damage(file.path, look)
    return file if problem is None else BadFile(file.path, CORRUPT, problem, file.rows)


def damage(path: Path, look: Look | None = None) -> str | None:
    """What is wrong with the pages of a file, if something is; `look` sees those before it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            wanted = [name for name in COLUMNS if name in file.schema_arrow.names]
            rows = 0
            for batch in file.iter_batches(columns=wanted):
                rows += batch.num_rows
                if look is not None:
                    look(batch)
            if rows != file.metadata.num_rows:
                return f"{rows} rows, and {file.metadata.num_rows} by its footer"
    except (pa.ArrowException, ValueError, OSError) as error:
        return (str(error) or type(error).__name__).splitlines()[0]
    return None
