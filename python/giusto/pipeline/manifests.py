"""What the writers of a trace folder say themselves: what they wrote and dropped, and who has not ended.

A run has gaps if a broker in it did not keep every record: by sampling, or since there was no room. Files
that were removed since are no gap: they are the oldest ones, and what follows them is whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from giusto.pipeline.tables.files import RecordFile, whole
from giusto.pipeline.verdict import summed
from giusto.trace.layout import FACTS, MANIFEST, manifest_name, prefix_of


class Told(TypedDict):
    """Rows in files, also in those that are gone; None without a manifest. Writers that did not end."""

    dropped: dict[str, int]
    written: int | None
    unended: int


def told(records: Path) -> Told:
    """What all manifests beside some records say, for the verdict."""
    manifests = read(records)
    files = [entry for entries in manifests for entry in entries if entry.get("event") == "file"]
    return Told(
        dropped=dropped(records),
        written=sum(whole(file.get("rows")) or 0 for file in files) if manifests else None,
        unended=sum(not entries or entries[-1].get("event") != "ended" for entries in manifests),
    )


class Gap(TypedDict):
    """What a run lacks: one message in `sampling` is there, and records were dropped, by reason."""

    sampling: int
    dropped: dict[str, int]


def gaps(records: Path, files: Iterable[RecordFile]) -> dict[str, Gap]:
    """The runs of some files, by name, of which records are missing."""
    writers: dict[str, dict[str, int]] = {}
    for file in files:
        if file.key is not None:
            run, node, _ = file.key
            of_run, writer = writers.setdefault(run, {}), prefix_of(node, run)
            of_run[writer] = max(file.sampling, of_run.get(writer, 1))
    found = {run: gap(records, brokers(records, of_run)) for run, of_run in sorted(writers.items())}
    return {run: each for run, each in found.items() if each["sampling"] > 1 or each["dropped"]}


def brokers(records: Path, writers: Mapping[str, int]) -> Mapping[str, int]:
    """Those of the writers of a run that are brokers. Live ones have facts, simulated ones another writer.

    A subscriber lacks the end of some deliveries only.
    """
    live = {name: each for name, each in writers.items() if any((records / FACTS).glob(f"{name}-*.json"))}
    return live or writers


def gap(records: Path, writers: Mapping[str, int]) -> Gap:
    """What some writers, each with its sampling, did not keep."""
    paths = [records / MANIFEST / manifest_name(name) for name in writers]
    entries = [entry for path in paths if path.exists() for entry in lines(path)]
    return Gap(sampling=max(writers.values()), dropped=lost(entries, "dropped"))


def dropped(records: Path) -> dict[str, int]:
    """Rows by reason: `ring`, `disk`, `sampling` were never written; `age`, `size` were, and are gone."""
    return lost([entry for entries in read(records) for entry in entries], "dropped", "removed")


def lost(entries: Iterable[Mapping[str, Any]], *events: str) -> dict[str, int]:
    """Rows of some events, by reason."""
    some = [each for each in entries if each.get("event") in events]
    counts = summed((str(each.get("reason")), whole(each.get("rows")) or 0) for each in some)
    return {reason: rows for reason, rows in counts.items() if rows}


def read(records: Path) -> list[list[dict[str, Any]]]:
    """The entries of each manifest, in their order."""
    return [list(lines(path)) for path in sorted((records / MANIFEST).glob("*.jsonl"))]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of one writer; a last line that is being written is none yet."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
