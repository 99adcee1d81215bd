"""The verdict on a folder of tables, read without Spark: what people read is small."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from giusto.pipeline.output import Output
from giusto.pipeline.verdict import Counts, Verdict, judged

AUDIT = ("with_bound", "violations", "uncertain", "misses", "largest_ratio", "proved_ratio")


def audited(out: Output, counts: Counts, **more: Any) -> Verdict:
    """What the tables in a folder come to."""
    audit = read(out.path / "contract_audit", *AUDIT)
    losses = read(out.path / "losses", "outcome", "count")
    runs = {row["run"] for name in ("topic_latency", "losses") for row in read(out.path / name, "run")}
    return judged(counts, rows_in(out.path / "deliveries"), audit, losses, runs, **more)


def read(folder: Path, *columns: str) -> list[dict[str, Any]]:
    """Rows of a small table."""
    import pyarrow.parquet as pq

    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.parquet")):
        found += pq.read_table(path, columns=list(columns)).to_pylist()
    return found


def rows_in(folder: Path) -> int:
    """How many rows a table has, by the footers of its files."""
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(path).num_rows for path in sorted(folder.rglob("*.parquet")))


def counted_by(folder: Path, column: str) -> dict[str, int]:
    """How many rows of a table have each value of a column."""
    import pyarrow.parquet as pq

    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.parquet")):
        counts.update(pq.read_table(path, columns=[column]).column(column).to_pylist())
    return dict(counts)
