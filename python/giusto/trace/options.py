"""How much of a run is traced, into which files, and how much of the disk they may take."""

from __future__ import annotations

from dataclasses import dataclass

from giusto.trace.keeping import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A folder of `None` traces nothing. A file ends at so many rows or bytes, or so long after its first.

    `capacity` rows wait in memory between two drains, which come every `every_ns`, more often under load. Of
    the messages one in `sampling` is traced. Files above `max_bytes` or older than `max_age_ns` go; 0 is no
    limit.
    """

    folder: str | None = None
    capacity: int = 524_288
    every_ns: int = 50_000_000
    sampling: int = 1
    file_rows: int = 1_000_000
    file_bytes: int = 67_108_864
    file_age_ns: int = 5_000_000_000
    max_bytes: int = 10_737_418_240
    max_age_ns: int = 0

    @property
    def limits(self) -> Limits:
        """What the files may take."""
        return Limits(self.max_bytes, self.max_age_ns)

    def is_due(self, rows: int, size_bytes: int, age_ns: int) -> bool:
        """Whether a file that has come this far ends here."""
        return rows >= self.file_rows or size_bytes >= self.file_bytes or age_ns >= self.file_age_ns
