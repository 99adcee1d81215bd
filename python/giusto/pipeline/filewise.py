"""Which rows of record files are all there is of their deliveries; those are written without passing Spark.

Tasks of Spark read files by themselves. The first time each row gets a tag, and the tags are counted here.
The second time rows whose delivery has no other are written as deliveries; the others are put aside.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.pipeline.tables.repeated import (
    HASH,
    MOST_FETCHED,
    MOST_REPEATED,
    TAG,
    are_pairs_few,
    pairs_of,
    tangled_of,
    weighed,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from giusto.pipeline.tables.columns import Columns, Slices
    from giusto.pipeline.tables.files import RecordFile

    Hashes = NDArray[np.int64]

ROWS_AT_ONCE = 1 << 18
# Fewer are not written by themselves: files of a quiet broker have some rows each.
ENOUGH_ROWS = 1 << 16
# So many tasks for each core: one that is done early takes another.
TASKS = 4
WRITTEN = "rows long"
DELTA = re.compile("DELTA_.*BYTE_ARRAY")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a file that is read at once: the `nth` of all."""

    nth: int
    path: str
    group: int
    wall_offset_ns: int | None


def stretches_of(files: Iterable[RecordFile]) -> list[Stretch]:
    """All stretches of some files."""
    import pyarrow.parquet as pq

    from giusto.pipeline.tables.bronze import about

    found = (
        (str(file.path), group, about(file.wall_offset_ns))
        for file in files
        for group in range(pq.read_metadata(file.path).num_row_groups)
    )
    return [Stretch(nth, *each) for nth, each in enumerate(found)]


def pairs_among(
    spark: SparkSession, stretches: list[Stretch], slices: Slices | None, most: int
) -> Hashes | None:
    """Hashes of deliveries of which there are two rows; nothing if there may be more of some, or many."""
    if not stretches or most > MOST_FETCHED:
        return None

    def tag(some: Iterator[Stretch]) -> Iterator[pa.RecordBatch]:
        return (tags for stretch in some for tags in tagged(stretch, slices))

    found = weighed(spread(spark, stretches, tag, f"{TAG} long").toArrow()[TAG].to_numpy())
    if found.num_rows > MOST_REPEATED or tangled_of(found).num_rows or not are_pairs_few(found):
        return None
    hashes: Hashes = pairs_of(found)[HASH].to_numpy()
    return hashes


def write_passing(
    spark: SparkSession,
    stretches: list[Stretch],
    slices: Slices | None,
    pairs: Hashes,
    folder: Path,
    aside: Path,
) -> None:
    """Write deliveries of one row each into a folder, and rows of others into another one."""

    def write(some: Iterator[Stretch]) -> Iterator[pa.RecordBatch]:
        return written(some, slices, pairs, folder, aside)

    for place in (folder, aside):
        place.mkdir(parents=True)
    spread(spark, stretches, write, WRITTEN).collect()


def spread(
    spark: SparkSession,
    stretches: list[Stretch],
    do: Callable[[Iterator[Stretch]], Iterator[Any]],
    schema: str,
) -> DataFrame:
    """Do something with all stretches, several in each task."""
    tasks = min(len(stretches), TASKS * spark.sparkContext.defaultParallelism)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return do(stretches[number] for batch in batches for number in batch.column(0).to_pylist())

    return spark.range(0, len(stretches), 1, tasks).mapInArrow(task, schema)


def read(stretch: Stretch, slices: Slices | None, names: Iterable[str]) -> Iterator[Columns]:
    """The rows of a stretch that are of some slices."""
    import pyarrow.parquet as pq

    from giusto.pipeline.tables.columns import columns_of, is_in, taken
    from giusto.pipeline.tables.files import COLUMNS

    about = pq.read_metadata(stretch.path)
    texts = [name for name in coded(about, stretch.group) if COLUMNS.get(name) == "string"]
    with pq.ParquetFile(stretch.path, metadata=about, read_dictionary=texts) as file:
        wanted = [name for name in names if name in file.schema_arrow.names]
        for batch in file.iter_batches(ROWS_AT_ONCE, [stretch.group], wanted, use_threads=False):
            columns = columns_of(batch, names)
            yield taken(columns, is_in(columns, slices))


def coded(about: Any, group: int) -> list[str]:
    """Columns that Arrow can read with each name once: not where names are told by differences."""
    columns = map(about.row_group(group).column, range(about.num_columns))
    return [each.path_in_schema for each in columns if not any(DELTA.match(name) for name in each.encodings)]


def tagged(stretch: Stretch, slices: Slices | None) -> Iterator[pa.RecordBatch]:
    """A tag for each row."""
    import pyarrow as pa

    from giusto.pipeline.tables.tags import READ, tags_of

    for columns in read(stretch, slices, READ):
        yield pa.RecordBatch.from_arrays([pa.array(tags_of(columns))], [TAG])


def written(
    some: Iterator[Stretch], slices: Slices | None, pairs: Hashes, folder: Path, aside: Path
) -> Iterator[pa.RecordBatch]:
    """One file in each folder for all of them, under a name that a task has also when it is repeated."""
    import pyarrow as pa

    from giusto.pipeline.tables.columns import taken
    from giusto.pipeline.tables.files import COLUMNS
    from giusto.pipeline.tables.passing import deliveries_of, is_copied
    from giusto.pipeline.tables.tags import has_one_of, tags_of

    rows = 0
    with ExitStack() as stack:
        passing, others = (stack.enter_context(Written(place)) for place in (folder, aside))
        for stretch in some:
            for columns in read(stretch, slices, COLUMNS):
                is_other = has_one_of(tags_of(columns), pairs)
                others.add(stretch, as_records(taken(columns, is_other), stretch.wall_offset_ns))
                alone = taken(columns, ~is_other & ~is_copied(columns))
                passing.add(stretch, deliveries_of(alone, stretch.wall_offset_ns))
                rows += len(is_other)
    yield pa.RecordBatch.from_arrays([pa.array([rows])], ["rows"])


def as_records(columns: Columns, wall_offset_ns: int | None) -> pa.Table:
    """Rows as they were read, with the offset of the wall clock."""
    import pyarrow as pa

    from giusto.pipeline.tables.bronze import WALL

    offset = pa.repeat(pa.scalar(wall_offset_ns, pa.int64()), len(columns["run"]))
    return pa.table({**columns, WALL: offset})


class Written:
    """A Parquet file that a task writes, which is there when it is whole; none without rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = ""
        self.token = secrets.token_hex(4)
        self.writer: Any = None
        self.kept: list[pa.Table] = []

    def __enter__(self) -> Written:
        return self

    def add(self, stretch: Stretch, rows: pa.Table) -> None:
        """Some more rows, written when there are enough; the first stretch gives the file its name."""
        if not rows.num_rows:
            return
        self.name = self.name or f"part-{stretch.nth:06}.parquet"
        self.kept.append(rows)
        if sum(rows.num_rows for rows in self.kept) >= ENOUGH_ROWS:
            self.write()

    def write(self) -> None:
        """Write what was kept, as one stretch."""
        import pyarrow as pa

        if not self.kept:
            return
        rows = pa.concat_tables(self.kept).unify_dictionaries().combine_chunks()
        if self.writer is None:
            self.writer = self.opened(rows.schema)
        self.writer.write_table(rows)
        self.kept = []

    def opened(self, schema: pa.Schema) -> Any:
        """The file, which begins."""
        import pyarrow.parquet as pq

        from giusto.pipeline.volume import UNLIKE

        return pq.ParquetWriter(
            self.hidden,
            schema,
            compression="lz4",
            use_dictionary=[name for name in schema.names if name not in UNLIKE],
            store_schema=False,  # names are texts, however they are kept here
        )

    @property
    def hidden(self) -> Path:
        """Where it is meanwhile: what another attempt writes is another file."""
        return self.folder / f".{self.name}.{self.token}"

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is None:
            self.write()
        if self.writer is None:
            return
        self.writer.close()
        if failure is None:
            self.hidden.replace(self.folder / self.name)
        else:
            self.hidden.unlink(missing_ok=True)
