"""Whether a file can be read to its end: a footer may be whole where a page before it is not."""

from __future__ import annotations

from pathlib import Path

from giusto.pipeline.tables.files import COLUMNS, BadFile, RecordFile

CORRUPT = "corrupt"


def checked(file: RecordFile | BadFile) -> RecordFile | BadFile:
    """A file, which is bad if some of it cannot be read."""
    if isinstance(file, BadFile):
        return file
    problem = damage(file.path)
    return file if problem is None else BadFile(file.path, CORRUPT, problem, file.rows)


def damage(path: Path) -> str | None:
    """What is wrong with the pages of a file, if something is."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            wanted = [name for name in COLUMNS if name in file.schema_arrow.names]
            rows = sum(batch.num_rows for batch in file.iter_batches(columns=wanted))
            if rows != file.metadata.num_rows:
                return f"{rows} rows, and {file.metadata.num_rows} by its footer"
    except (pa.ArrowException, ValueError, OSError) as error:
        return (str(error) or type(error).__name__).splitlines()[0]
    return None
