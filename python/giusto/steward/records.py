"""Hands out the files of a trace folder: whole files, by name, in parts that fit into a reply."""

from __future__ import annotations

import os
import re
from pathlib import Path

from giusto.client import Bus
from giusto.errors import NotRetained
from giusto.retain import requests
from giusto.retain.requests import Done, FetchFile, Part, RecordFile
from giusto.steward.desk import answering

SUFFIX = ".parquet"
NAME_MAX = 255
_NAME = re.compile(r"(?!\.)[^/\0]{1,247}\.parquet")


class RecordFiles:
    """The records that a broker or others beside it have written so far."""

    def __init__(self, folder: Path) -> None:
        self.name = "records"
        self.remarks: list[str] = []
        self._folder = folder / "records"

    def begin(self, bus: Bus) -> None:
        """Answer from now on."""
        bus.serve(requests.RECORDS + "list", answering(Done, lambda _: self.files()))
        bus.serve(requests.RECORDS + "fetch", answering(FetchFile, self.fetch))

    def tend(self) -> None:
        """Whoever writes the files looks after them."""

    def end(self) -> None:
        """Nothing is left to do."""

    def files(self) -> list[RecordFile]:
        """All whole files; those that are being written have other names."""
        try:
            found = [one for one in os.scandir(self._folder) if is_whole(one.name)]
        except FileNotFoundError:
            return []
        return [RecordFile(one.name, one.stat().st_size) for one in sorted(found, key=lambda one: one.name)]

    def fetch(self, asked: FetchFile) -> Part:
        """A part of one file."""
        if not _NAME.fullmatch(asked.name) or asked.skip < 0:
            raise NotRetained(asked.name[:NAME_MAX], "not a file of records")
        try:
            with (self._folder / asked.name).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(asked.skip)
                return Part(0, size, file.read(requests.PART_BYTES))
        except FileNotFoundError:
            raise NotRetained(asked.name, "removed before it was read: see the bounds of the trace") from None
        except OSError as error:
            raise NotRetained(asked.name, f"cannot be read: {error.strerror}") from None


def is_whole(name: str) -> bool:
    """Whether a file was written to its end."""
    return name.endswith(SUFFIX) and not name.startswith(".")
