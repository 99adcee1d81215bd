"""Brings the record files of a tracing broker here, over the bus: each of them whole, and once.

With them come the manifests and facts beside them, anew when they have grown.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from giusto.errors import Closed, NotRetained, TimedOut
from giusto.pipeline.output import BUS, read_json, remove, write_json
from giusto.pipeline.source.options import parsed
from giusto.pipeline.source.remote import Remote, bus_of, forget
from giusto.pipeline.tables.files import RECORDS
from giusto.retain import requests
from giusto.trace.layout import FACTS, MANIFEST

LIST = requests.RECORDS + "list"
OWNER = "broker.json"


class Fetching:
    """Record files of one broker, in a folder of their own."""

    def __init__(self, url: str, out: Path) -> None:
        self.options = parsed({"url": url})
        self.folder = out / BUS
        self._remote = Remote(self.options)

    def bring(self, known: Collection[str] = ()) -> int:
        """Fetch the files that are not here and not `known`: how many. Those of another broker go."""
        place = self.folder / RECORDS
        place.mkdir(parents=True, exist_ok=True)
        names = self.names()
        self.own()
        here = {path.name for path in place.iterdir()} | set(known)
        brought = 0
        self.bring_beside()
        for name in names:
            # A name, not a path: it is the broker's word.
            if name not in here and Path(name).name == name:
                with suppress(NotRetained):  # removed since
                    write_whole(place / name, self._remote.record_file(name))
                    brought += 1
        return brought

    def own(self) -> None:
        """See that there is nothing of another broker."""
        mine, owner = {"url": self.options.url}, self.folder / OWNER
        if read_json(owner) not in (None, mine):
            remove(self.folder)
        (self.folder / RECORDS).mkdir(parents=True, exist_ok=True)
        write_json(owner, mine)

    def names(self) -> list[str]:
        """The files that the broker has."""
        if not self._is_served(LIST):
            raise NotRetained(f"records of {self.options.url}", "none: start that broker with --trace DIR")
        return [file.name for file in self._remote.record_files()]

    def bring_beside(self) -> None:
        """Fetch manifests and facts that are new or longer than they were; a broker may have none."""
        if not self._is_served(requests.BESIDE + "list"):
            return
        for file in self._remote.beside():
            folder, _, name = file.name.partition("/")
            place = self.folder / folder / name
            if folder not in (MANIFEST, FACTS) or Path(name).name != name or size_of(place) == file.bytes:
                continue
            with suppress(NotRetained):
                place.parent.mkdir(exist_ok=True)
                write_whole(place, self._remote.file_beside(file.name))

    def _is_served(self, topic: str) -> bool:
        """Whether the broker has somebody who answers; a connection that has ended is made anew next time."""
        try:
            return bool(bus_of(self.options.url).subscribers(topic))
        except (Closed, TimedOut):
            forget(self.options.url)
            raise

    def drop(self, known: Collection[str]) -> None:
        """Remove files that are known elsewhere by now."""
        for path in (self.folder / RECORDS).glob("*"):
            if path.name in known:
                path.unlink()

    def close(self) -> None:
        """End the connection."""
        forget(self.options.url)


def size_of(path: Path) -> int | None:
    """How large a file is, if it is there."""
    return path.stat().st_size if path.exists() else None


def write_whole(path: Path, body: bytes) -> None:
    """All of a file under its name, or nothing."""
    unfinished = path.with_name(f".{path.name}.tmp")
    with unfinished.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
