"""What the writers of a trace folder say themselves: what they wrote and dropped, and who has not ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

from giusto.pipeline.tables.files import whole
from giusto.pipeline.verdict import summed

FOLDER = "manifest"


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


def dropped(records: Path) -> dict[str, int]:
    """Rows by reason: `ring`, `disk`, `sampling` were never written; `age`, `size` were, and are gone."""
    entries = [entry for entries in read(records) for entry in entries]
    lost = [each for each in entries if each.get("event") in ("dropped", "removed")]
    return summed((str(each.get("reason")), whole(each.get("rows")) or 0) for each in lost)


def read(records: Path) -> list[list[dict[str, Any]]]:
    """The entries of each manifest, in their order."""
    return [list(lines(path)) for path in sorted((records / FOLDER).glob("*.jsonl"))]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of one writer; a last line that is being written is none yet."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
