"""Brings the record files of a tracing broker here, over the bus: each of them whole, and once."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from giusto.pipeline.tables.files import RECORDS

FOLDER = "bus"


class Fetching:
    """Record files of one broker, in a folder of their own."""

    def __init__(self, url: str, out: Path) -> None:
        from giusto.pipeline.source.options import parsed
        from giusto.pipeline.source.remote import Remote

        self.options = parsed({"url": url})
        self.folder = out / FOLDER
        self._remote = Remote(self.options)

    def bring(self, known: Collection[str] = ()) -> int:
        """Fetch the files that are not here and not `known`: how many."""
        place = self.folder / RECORDS
        place.mkdir(parents=True, exist_ok=True)
        names = [file.name for file in self._remote.record_files()]
        wanted = [name for name in names if name not in known and not (place / name).exists()]
        for name in wanted:
            write_whole(place / Path(name).name, self._remote.record_file(name))
        return len(wanted)

    def drop(self, known: Collection[str]) -> None:
        """Remove files that are known elsewhere by now."""
        for path in (self.folder / RECORDS).glob("*"):
            if path.name in known:
                path.unlink()

    def close(self) -> None:
        """End the connection."""
        from giusto.pipeline.source import remote

        remote.forget(self.options.url)


def write_whole(path: Path, body: bytes) -> None:
    """All of a file under its name, or nothing."""
    unfinished = path.with_name(f".{path.name}.tmp")
    with unfinished.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
