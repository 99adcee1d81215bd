"""What never reached a record file, or was removed again, as the writers of a trace folder say themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from giusto.pipeline.tables.files import whole
from giusto.pipeline.verdict import summed

FOLDER = "manifest"


def dropped(records: Path) -> dict[str, int]:
    """Rows by reason: `ring`, `disk`, `sampling` were never written; `age`, `size` were, and are gone."""
    entries = [entry for path in sorted((records / FOLDER).glob("*.jsonl")) for entry in lines(path)]
    lost = [each for each in entries if each.get("event") in ("dropped", "removed")]
    return summed((str(each.get("reason")), whole(each.get("rows")) or 0) for each in lost)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of one writer; a last line that is being written is none yet."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
