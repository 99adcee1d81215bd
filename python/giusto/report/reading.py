"""What a folder of tables holds: the verdict, and tables that may be missing or lack a column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.errors import InvalidInput, NotInstalled

if TYPE_CHECKING:
    import pyarrow as pa

VERDICT = "verdict.json"
COUNTS = (
    "records", "used", "deliveries", "contracts", "with_bound", "violations", "uncertain", "misses",
    "duplicates", "pending", "forgotten", "written", "unended",
)  # fmt: skip
RATIOS = ("largest_ratio", "proved_ratio")
REASONS = ("losses", "quarantined", "quarantined_files", "dropped")


class Absent(Exception):
    """A table cannot be shown; the text says why."""


@dataclass(frozen=True)
class Tables:
    """The tables below one folder, and the verdict on them."""

    folder: Path
    verdict: Mapping[str, Any]

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """These columns of a table. Raises `Absent` if they are not there."""
        import pyarrow as pa
        from pyarrow import dataset

        place = self.folder / name
        if not place.is_dir():
            raise Absent(f"There is no table {name} in this folder.")
        try:
            found = dataset.dataset(place, format="parquet")
            if not found.files:
                return pa.table({column: pa.nulls(0) for column in columns})
            lacking = [column for column in columns if column not in found.schema.names]
            if lacking:
                raise Absent(f"The table {name} has no column {', '.join(lacking)}.")
            return found.to_table(columns=list(columns))
        except (pa.ArrowException, OSError) as error:
            raise Absent(f"The table {name} cannot be read: {str(error).splitlines()[0]}") from None


def tables(folder: Path) -> Tables:
    """The tables in `folder`, or in `tables` below it. Raises `InvalidInput` if there are none."""
    if find_spec("pyarrow") is None:
        raise NotInstalled("pyarrow", "pip install 'giusto[spark]'")
    for place in (folder, folder / "tables"):
        if (place / VERDICT).is_file():
            return Tables(place, verdict(place / VERDICT))
    problem = "a folder" if not folder.is_dir() else f"a folder with {VERDICT}"
    raise InvalidInput("DIR", folder, f"{problem} that `giusto pipeline run` has written")


def verdict(path: Path) -> Mapping[str, Any]:
    """The verdict, with numbers where numbers should be."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidInput("DIR", path, "JSON, as `giusto pipeline run` writes it: run it again") from None
    if not isinstance(found, dict):
        raise InvalidInput("DIR", path, "a JSON object, as `giusto pipeline run` writes it: run it again")
    for name in COUNTS:
        _require(path, name, isinstance(found.get(name), int | None), found.get(name), "a whole number")
    for name in REASONS:
        value = found.get(name) or {}
        _require(path, name, _is_counts(value), value, "whole numbers by reason")
    gaps = found.get("gaps") or {}
    known = isinstance(gaps, dict) and all(_is_gap(gap) for gap in gaps.values())
    _require(path, "gaps", known, gaps, "`sampling` and `dropped` by run")
    for name in RATIOS:
        _require(path, name, isinstance(found.get(name), int | float | None), found.get(name), "a number")
    return found


def _is_counts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, int) for each in value.values())


def _is_gap(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("sampling"), int):
        return False
    return _is_counts(value.get("dropped"))


def _require(path: Path, name: str, met: bool, value: object, expected: str) -> None:
    if not met:
        raise InvalidInput(f"{path}: {name}", value, expected)
