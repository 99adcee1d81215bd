"""Polars on the files that Spark reads; how many threads it has is set before it is imported."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "2")

import polars as pl
from benchmarks.pipeline import bear_silver
from benchmarks.pipeline.bear_gold import GOLD
from benchmarks.pipeline.records import WALL_OFFSET_NS

TABLES = ("deliveries", "hops", *GOLD)
NAMES = ["run", "node", "topic", "publisher", "subscriber", "outcome"]


class Bear:
    """Frames that are files."""

    def __init__(self) -> None:
        self.inputs: dict[str, pl.LazyFrame] = {}

    def records(self, paths: Iterable[Path]) -> None:
        """Where the records are; all of them are hops, unless told."""
        found = pl.scan_parquet(sorted(paths))
        found = found.with_columns(wall_offset_ns=pl.lit(WALL_OFFSET_NS, pl.Int64))
        # Deliveries have names as plain text.
        hops = found.with_columns(pl.col(NAMES).cast(pl.String))
        self.inputs |= {"records": found, "hops": hops}

    def input(self, name: str, folder: Path) -> None:
        """Where the deliveries are, or the hops."""
        self.inputs[name] = pl.scan_parquet(sorted(folder.glob("*.parquet")))

    def write(self, name: str, path: Path) -> None:
        """Make a table."""
        self.table(name).sink_parquet(path)

    def table(self, name: str) -> pl.LazyFrame:
        """What is to be computed."""
        if name in GOLD:
            return GOLD[name]((self.inputs["deliveries"], self.inputs["hops"]))
        made: pl.LazyFrame = getattr(bear_silver, name)(self.inputs["records"])
        return made

    def scan(self, sum_of: str) -> object:
        """One number of all records."""
        found = pl.sql_expr(sum_of) if sum_of != "count(*)" else pl.len()
        return self.inputs["records"].select(found).collect(engine="streaming").item()
