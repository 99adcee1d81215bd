"""What the files of a node take in a trace folder, and which of them are removed so that they stay bounded.

Facts count like records from when they hold no more; those that hold stay. Files of earlier runs count too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from giusto.trace import layout
from giusto.trace.keeping import MANIFESTS_MAX, Kept, Limits, Reason, superseded, surplus
from giusto.trace.manifest import is_written


class Room:
    """The part of a trace folder that one node may fill."""

    def __init__(self, folder: Path, node: str, prefix: str, limits: Limits) -> None:
        self._folder = folder
        self._node = layout.node_prefix(node)
        self._prefix = prefix
        self._limits = limits

    def surplus(self, now_ns: int) -> list[tuple[Path, Reason]]:
        """The files of records and facts that have to go, and why."""
        if self._limits == Limits():
            return []
        records = self._kept(layout.RECORDS, ".parquet")
        past, held_bytes = self._past_facts(records)
        gone = surplus([*records, *past], self._limits.beside(held_bytes), now_ns)
        return [(self._folder / _part_of(file.name) / file.name, reason) for file, reason in gone]

    def forget_runs(self) -> None:
        """Remove the oldest manifests of runs of which nothing else is left."""
        left = {layout.run_prefix(file.name) for file in self._kept(layout.RECORDS, ".parquet")}
        idle = [
            file
            for file in self._kept(layout.MANIFEST, ".jsonl")
            if (prefix := file.name.removesuffix(".jsonl")) != self._prefix and prefix not in left
        ]
        idle.sort(key=lambda file: (file.since_ns, file.name))
        for file in idle[: max(0, len(idle) - MANIFESTS_MAX)] if self._limits != Limits() else []:
            path = self._folder / layout.MANIFEST / file.name
            if not is_written(path):
                path.unlink(missing_ok=True)

    def _past_facts(self, records: list[Kept]) -> tuple[list[Kept], int]:
        """Facts that hold no more, and the bytes of those that do."""
        facts: dict[str, list[Kept]] = {}
        for file in sorted(self._kept(layout.FACTS, ".json"), key=lambda file: layout.number_of(file.name)):
            facts.setdefault(layout.run_prefix(file.name) or "", []).append(file)
        held = facts.get(self._prefix, [])[-1:]
        past = []
        for prefix, files in facts.items():
            ends = [file.since_ns for file in records if layout.run_prefix(file.name) == prefix]
            past += superseded(files, max([files[-1].since_ns, *ends]))
        names = {file.name for file in held}
        return [file for file in past if file.name not in names], sum(file.bytes for file in held)

    def _kept(self, part: str, suffix: str) -> list[Kept]:
        return list(self._found(self._folder / part, suffix))

    def _found(self, folder: Path, suffix: str) -> Iterator[Kept]:
        for path in folder.glob(f"{self._node}*{suffix}"):
            try:
                state = path.stat()
            except FileNotFoundError:
                continue
            yield Kept(path.name, state.st_size, state.st_mtime_ns)


def _part_of(name: str) -> str:
    return layout.RECORDS if name.endswith(".parquet") else layout.FACTS
