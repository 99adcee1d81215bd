"""What a trace holds and what not: records by outcome, and what was dropped, removed or unreadable."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from giusto import record
from giusto.trace import layout
from giusto.trace.manifest import lines

_COLUMNS = ["run", "node", "t_ingress_ns", "outcome"]


@dataclass(slots=True)
class Summary:
    """Of a trace folder, a folder of files or a file; the manifests tell what is not in the files."""

    files: int = 0
    bytes: int = 0
    records: int = 0
    runs: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    first_ns: int | None = None
    last_ns: int | None = None
    outcomes: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    writing: list[str] = field(default_factory=list)
    """Writers that have not ended, or were killed."""
    unread: list[record.Unread] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "unread"}
        return {**plain, "unread": {str(path): reason for path, reason in self.unread}}


def summarise(path: str | Path) -> Summary:
    """What is there, file by file."""
    found = Summary()
    for file in record.files(path):
        _add_file(found, file)
    folder = Path(path) / layout.MANIFEST
    for manifest in sorted(folder.glob("*.jsonl")) if folder.is_dir() else []:
        _add_manifest(found, manifest)
    return found


def _add_file(found: Summary, file: Path) -> None:
    import pyarrow.compute as pc

    unread = len(found.unread)
    table = record.read(file, _COLUMNS, unread=found.unread)
    if len(found.unread) > unread:
        return
    found.files += 1
    found.bytes += file.stat().st_size
    if not table.num_rows:
        return
    found.records += table.num_rows
    for names, column in ((found.runs, "run"), (found.nodes, "node")):
        names.extend(name for name in pc.unique(table[column]).to_pylist() if name not in names)
    for row in pc.value_counts(table["outcome"].cast("string")).to_pylist():
        found.outcomes[row["values"]] += row["counts"]
    span = pc.min_max(table["t_ingress_ns"]).as_py()
    found.first_ns = span["min"] if found.first_ns is None else min(found.first_ns, span["min"])
    found.last_ns = span["max"] if found.last_ns is None else max(found.last_ns, span["max"])


def _add_manifest(found: Summary, manifest: Path) -> None:
    has_ended = False
    for line in lines(manifest):
        # One that came back under the same name goes on after the end of the one before.
        has_ended = line.get("event") == "ended"
        match line.get("event"):
            case "dropped":
                found.dropped[line["reason"]] += line["rows"]
            case "removed":
                found.removed[line["reason"]] += line["rows"] or 0
    if not has_ended:
        found.writing.append(manifest.stem)
