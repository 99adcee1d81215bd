"""Hands out the files of a trace folder: whole files, by name, in parts that fit into a reply."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from giusto.client import Bus
from giusto.errors import NotRetained
from giusto.retain import requests
from giusto.retain.requests import Count, Done, FetchFile, Part, RecordFile, Written
from giusto.steward.desk import answering
from giusto.trace import layout
from giusto.trace.manifest import lines

SUFFIX = ".parquet"
NAME_MAX = 255
_NAME = re.compile(r"(?!\.)[^/\0]{1,247}\.parquet")
_MANIFEST = re.compile(r"(?!\.)[^/\0]{1,255}")


class RecordFiles:
    """The records that a broker or others beside it have written so far."""

    def __init__(self, folder: Path) -> None:
        self.name = "records"
        self.remarks: list[str] = []
        self._folder, self._manifests = folder / layout.RECORDS, folder / layout.MANIFEST

    def begin(self, bus: Bus) -> None:
        """Answer from now on."""
        bus.serve(requests.RECORDS + "list", answering(Done, lambda _: self.files()))
        bus.serve(requests.RECORDS + "fetch", answering(FetchFile, self.fetch))
        bus.serve(requests.RECORDS + "written", answering(Written, self.written))

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

    def written(self, asked: Written) -> Count:
        """The files that the manifest names: a number that the disk did not take was never a file.

        Without a manifest every number may have been one.
        """
        name = layout.manifest_name(asked.writer)
        try:
            if not _MANIFEST.fullmatch(name):
                raise NotRetained(asked.writer[:NAME_MAX], "not a writer of records")
            said = list(lines(self._manifests / name))
        except OSError:
            return Count(asked.last - asked.after)
        names = {one.get("name") for one in said if one.get("event") == "file"}
        numbers = by_number(asked.writer, names)
        return Count(sum(asked.after < number <= asked.last for number in numbers))


def by_number(writer: str, names: Iterable[object]) -> set[int]:
    """The numbers of the files of a writer."""
    found = (re.fullmatch(re.escape(writer) + r"-(\d+)\.parquet", str(name)) for name in names)
    return {int(match[1]) for match in found if match is not None}


def is_whole(name: str) -> bool:
    """Whether a file was written to its end."""
    return name.endswith(SUFFIX) and not name.startswith(".")
