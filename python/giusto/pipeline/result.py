"""What a pipeline left: the verdict, and its tables for Arrow, pandas or Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.errors import InvalidInput
from giusto.pipeline.linking import literal
from giusto.pipeline.output import VERDICT, read_json
from giusto.pipeline.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Result:
    """A folder of tables and what they come to; how many models a batch published, if it should."""

    out: Path
    verdict: Verdict
    published: int | None = None

    def table(self, name: str) -> pa.Table:
        """One table, whole, without Spark."""
        import pyarrow.parquet as pq

        return pq.read_table(self.folder(name))

    def frame(self, name: str, master: str | None = None) -> DataFrame:
        """One table for Spark, which is started if it does not run."""
        from giusto.pipeline.session import session

        return session(master).read.parquet(literal(self.folder(name)))

    def folder(self, name: str) -> Path:
        """Where the files of a table are."""
        folder = self.out / name
        if name.startswith(".") or not any(folder.rglob("*.parquet")):
            raise InvalidInput("table", name, f"one of {', '.join(names(self.out))}")
        return folder


def result(out: str | Path) -> Result:
    """What a pipeline left in a folder."""
    path = Path(out).absolute()  # Spark may have another working directory
    kept = read_json(path / VERDICT) if path.is_dir() else None
    if kept is None:
        raise InvalidInput("out", path, "a folder with tables; `giusto pipeline run` makes one")
    return Result(path, Verdict.from_dict(kept))


def names(out: Path) -> list[str]:
    """The tables in a folder."""
    return sorted(path.name for path in out.iterdir() if path.is_dir() and any(path.glob("*.parquet")))
