"""A source of records and a clock that tests turn by hand, and what a trace folder says in the end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from giusto import _core, record
from giusto.trace import Options, TraceWriter
from giusto.trace.manifest import lines

MS = 1_000_000


class Source:
    """Records that are there when the writer drains."""

    def __init__(self, capacity: int = 1_000) -> None:
        self.columns = _core.Columns(capacity)
        self.columns.set_name("run", 0, "run_1")
        self.columns.set_name("node", 0, "ward 3")
        self.columns.set_name("topic", 0, "a")
        self.pushed = 0

    def push(self, count: int, **fields: Any) -> None:
        for _ in range(count):
            self.columns.push(
                **{
                    "run": 0,
                    "node": 0,
                    "topic": 0,
                    "publisher": 0,
                    "sequence": self.pushed,
                    "size_bytes": 1,
                    "t_sent_ns": self.pushed * MS,
                    "t_ingress_ns": self.pushed * MS + 5,
                    "outcome": "delivered",
                    **fields,
                }
            )
            self.pushed += 1


class Traced:
    """A writer that only does what the test has it do."""

    def __init__(self, folder: Path, run: str = "run_1", **options: Any) -> None:
        self.source = Source()
        self.now = 0
        self.folder = folder
        self.writer = TraceWriter(
            Options(folder=str(folder), **options),
            self.source.columns.drain,
            node="ward 3",
            run=run,
            clock=lambda: self.now,
        )

    def turn(self, count: int = 0, after_ms: int = 0) -> None:
        """So much later the writer finds so many records."""
        self.now += after_ms * MS
        self.source.push(count)
        self.writer.turn()

    def stop(self) -> None:
        self.writer.stop()

    @property
    def files(self) -> list[str]:
        """The names of all files of records."""
        return [file.name for file in record.files(self.folder)]

    @property
    def said(self) -> list[dict[str, Any]]:
        """All lines of all manifests."""
        paths = sorted((self.folder / "manifest").iterdir())
        return [line for path in paths for line in lines(path)]

    @property
    def dropped(self) -> Counter[str]:
        """Records that are in no file, by reason."""
        return dropped(self.said)


def dropped(said: list[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in said:
        if line["event"] == "dropped":
            counts[line["reason"]] += line["rows"]
    return counts
