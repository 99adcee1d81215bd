"""Which deliveries of a stream are no longer kept: whole files, by how long ago their slices were settled.

They are counted in the state before they are removed, and what it says is removed again after a crash: so
none is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from giusto.pipeline.output import DELIVERIES
from giusto.pipeline.streaming.slices import State


def forget(state: State, place: Path, before_s: float) -> State:
    """Let files of deliveries go that are older than an instant."""
    import pyarrow.parquet as pq

    old = sorted(path for path in files(place, state.parts) if path.stat().st_mtime < before_s)
    rows = sum(pq.read_metadata(path).num_rows for path in old)
    names = tuple(str(path.relative_to(place)) for path in old)
    return replace(state, forgotten=state.forgotten + rows, forgetting=names)


def files(place: Path, parts: Iterable[str]) -> list[Path]:
    """The files with the deliveries of some parts."""
    return [path for part in parts for path in (place / part / DELIVERIES).glob("*.parquet")]


def remove_forgotten(state: State, place: Path) -> None:
    """Remove what the state says."""
    for name in state.forgetting:
        (place / name).unlink(missing_ok=True)
