"""Hands out what is beside the records of a trace folder: manifests of what was not kept, and facts."""

from __future__ import annotations

import os
from pathlib import Path

from giusto.client import Bus
from giusto.errors import NotRetained
from giusto.retain import requests
from giusto.retain.requests import Done, FetchFile, Part, RecordFile
from giusto.steward.desk import answering
from giusto.trace import layout

FOLDERS = {layout.MANIFEST: ".jsonl", layout.FACTS: ".json"}


class Beside:
    """The manifests and facts of a trace folder, by folder and name."""

    def __init__(self, folder: Path) -> None:
        self.name = "beside records"
        self.remarks: list[str] = []
        self._folder = folder

    def begin(self, bus: Bus) -> None:
        """Answer from now on."""
        bus.serve(requests.BESIDE + "list", answering(Done, lambda _: self.files()))
        bus.serve(requests.BESIDE + "fetch", answering(FetchFile, self.fetch))

    def tend(self) -> None:
        """Whoever writes the files looks after them."""

    def end(self) -> None:
        """Nothing is left to do."""

    def files(self) -> list[RecordFile]:
        """All files that there are, and how large they are so far."""
        places = [place for folder in FOLDERS for place in sorted((self._folder / folder).glob("*"))]
        names = [f"{place.parent.name}/{place.name}" for place in places]
        return [
            RecordFile(name, place.stat().st_size)
            for name, place in zip(names, places, strict=True)
            if is_beside(name)
        ]

    def fetch(self, asked: FetchFile) -> Part:
        """A part of one file."""
        if not is_beside(asked.name):
            raise NotRetained(asked.name, "not a manifest or facts")
        try:
            with (self._folder / asked.name).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, asked.skip))
                return Part(0, size, file.read(requests.PART_BYTES))
        except OSError as error:
            raise NotRetained(asked.name, f"cannot be read: {error.strerror}") from None


def is_beside(name: str) -> bool:
    """Whether a name is one of a manifest or of facts, and of nothing elsewhere."""
    folder, _, file = name.partition("/")
    is_plain = "/" not in file and "\0" not in file and not file.startswith(".")
    return folder in FOLDERS and is_plain and file.endswith(FOLDERS[folder])
