"""How records are laid out in a Parquet file: what is quick to write, small, and read by everybody.

Instants and sequence numbers as differences, all else by dictionary, and no compression: it would take the
processor that the broker needs, and find little. Statistics of the instants let readers skip row groups.
"""

from __future__ import annotations

import base64
from pathlib import Path

from giusto import _core
from giusto.record import VERSION, VERSION_KEY, schema
from giusto.trace.layout import METADATA_KEY, FileFacts

_ARROW_KEY = "ARROW:schema"
"""Where Arrow looks for types that Parquet does not know, such as dictionaries."""


class RecordFile:
    """A file of records that grows by row groups; it has what it says of itself when it is closed.

    What goes into a group is added to the encoder before, which is used again for the next file.
    """

    def __init__(self, path: Path, encoder: _core.RecordEncoder) -> None:
        self.path = path
        self._encoder = encoder
        self._sink = path.open("wb", buffering=0)

    def write_group(self) -> None:
        """Write what was added as a row group; raises `OSError` if the disk takes it not."""
        self._write(self._encoder.group())

    @property
    def rows(self) -> int:
        """Records written so far."""
        return self._encoder.rows

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._sink.write(left) :]

    @property
    def first_ns(self) -> int | None:
        """When the first record came in."""
        return None if self._encoder.span is None else self._encoder.span[0]

    @property
    def last_ns(self) -> int | None:
        """When the last record came in."""
        return None if self._encoder.span is None else self._encoder.span[1]

    @property
    def bytes(self) -> int:
        """Bytes written so far."""
        return self._sink.tell()

    def close(self, facts: FileFacts) -> None:
        """End the file; it is complete then, but perhaps not on the disk."""
        said = [
            (_ARROW_KEY, base64.b64encode(schema().serialize()).decode()),
            (VERSION_KEY.decode(), str(VERSION)),
            (METADATA_KEY.decode(), facts.to_metadata().decode()),
        ]
        try:
            self._write(self._encoder.end(said))
        finally:
            self._sink.close()

    def abandon(self) -> None:
        """Leave it as it is: it will never be complete."""
        self._sink.close()
