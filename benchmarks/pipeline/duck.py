"""DuckDB on the files that Spark reads: two threads, a table into one Parquet file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb
from benchmarks.pipeline.duck_gold import GOLD
from benchmarks.pipeline.duck_silver import DELIVERIES, HOPS
from benchmarks.pipeline.records import WALL_OFFSET_NS

TABLES = {"deliveries": DELIVERIES, "hops": HOPS, **GOLD}


class Duck:
    """A database in memory whose tables are files."""

    def __init__(self, scratch: Path, threads: int = 2, memory: str = "6GB") -> None:
        settings = {"threads": threads, "memory_limit": memory, "temp_directory": str(scratch)}
        self.database = duckdb.connect(config={**settings, "preserve_insertion_order": False})

    def records(self, paths: Iterable[Path]) -> None:
        """Where the records are; all of them are hops, unless told."""
        wall = f"{WALL_OFFSET_NS}::bigint as wall_offset_ns"
        self.database.execute(f"create or replace view records as select *, {wall} from {files(paths)}")
        self.database.execute("create or replace view hops as select * from records")

    def input(self, name: str, folder: Path) -> None:
        """Where the deliveries are, or the hops."""
        source = files(folder.glob("*.parquet"))
        self.database.execute(f"create or replace view {name} as select * from {source}")

    def write(self, name: str, path: Path) -> None:
        """Make a table."""
        self.database.execute(f"copy ({TABLES[name]}) to '{path}' (format parquet)")

    def scan(self, sum_of: str) -> object:
        """One number of all records."""
        row = self.database.execute(f"select {sum_of} from records").fetchone()
        return None if row is None else row[0]


def files(paths: Iterable[Path]) -> str:
    """Files as a table."""
    return f"read_parquet([{', '.join(repr(str(path)) for path in sorted(paths))}])"
