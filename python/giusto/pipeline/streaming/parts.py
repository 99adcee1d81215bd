"""Where the parts of a stream are kept, and when several of them become one.

    parts/<part>/<table>/*.parquet        sums of the slices that one micro-batch settled
    parts/<part>/deliveries/*.parquet     and their deliveries
    quarantine/<part>/*.parquet           rows of one micro-batch that were left out

A part is called by its level, its micro-batch and the process that made it: what was killed may be writing
for a moment still. Sixteen parts of one level become one of the next: so sums are written again for each
sixteenfold of the stream, and their number grows with its logarithm. Deliveries are written again as long as
their files are small; large files get second names only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from giusto.pipeline.linking import link
from giusto.pipeline.output import remove, settle

PARTS, BAD = "parts", "quarantine"
TOGETHER = 16


def name_of(level: int, batch: int, token: str) -> str:
    """What a part is called."""
    return f"{level}-{batch:09}-{token}"


def level_of(part: str) -> int:
    """How often the rows of a part were put together."""
    return int(part.partition("-")[0])


def to_bundle(parts: Sequence[str]) -> tuple[str, ...]:
    """The parts that become one now: the oldest of the lowest level that has enough of them."""
    for level in sorted({level_of(part) for part in parts}):
        same = sorted(part for part in parts if level_of(part) == level)
        if len(same) >= TOGETHER:
            return tuple(same[:TOGETHER])
    return ()


def bundle_name(parts: Sequence[str], token: str) -> str:
    """What they are called as one."""
    newest = max(int(part.split("-")[1]) for part in parts)
    return name_of(level_of(parts[0]) + 1, newest, token)


def bundled(parts: Sequence[str], some: Collection[str], bundle: str) -> tuple[str, ...]:
    """The parts there are when some have become one."""
    return (*(part for part in parts if part not in some), bundle)


def remove_others(folder: Path, known: Collection[str]) -> None:
    """Remove what no state knows: it was being made, or has become a part of another."""
    for path in sorted(folder.glob("*")):
        if path.name not in known:
            remove(path)


def gather(folders: Sequence[Path], place: Path) -> None:
    """The files of several folders in one."""
    place.mkdir(parents=True)
    files = [path for folder in folders for path in sorted(folder.glob("*.parquet"))]
    for number, path in enumerate(files):
        link(path, place / f"part-{number:06}.parquet")
    settle(place)
