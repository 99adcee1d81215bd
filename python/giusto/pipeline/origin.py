"""What tables were made of, and whether those of other records may take their place: only if that is said."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from giusto.errors import InvalidInput
from giusto.pipeline.output import Output

BATCH, STREAM = "batch", "stream"


@dataclass(frozen=True, slots=True)
class Origin:
    """A batch or a stream of the records in a folder, in a file, or of the broker at an address."""

    mode: str
    records: str
    window_ns: int

    def __str__(self) -> str:
        return f"a {self.mode} of {self.records}"

    def is_same(self, other: Origin) -> bool:
        """Whether these are the same tables at another time; a batch makes them for any window."""
        return (self.mode, self.records) == (other.mode, other.records)

    def to_dict(self) -> dict[str, Any]:
        """For `pipeline.json`."""
        return asdict(self)


def origin_of(kept: dict[str, Any] | None) -> Origin | None:
    """What `pipeline.json` says; nothing if it is of a giusto that did not say it."""
    given = {name: (kept or {}).get(name) for name in ("mode", "records", "window_ns")}
    match given:
        case {"mode": str(mode), "records": str(records), "window_ns": int(window_ns)}:
            return Origin(mode, records, window_ns)
    return None


def replaced(out: Output, wanted: Origin, *, replace: bool) -> Origin | None:
    """What is in the folder and would be replaced, if it is something else: refused unless `replace`."""
    known = origin_of(out.mark()) if out.has_tables() else None
    if known is None or known.is_same(wanted):
        return None
    if not replace:
        raise InvalidInput("out", out.path, f"a folder for {wanted}; {held(known)}")
    return known


def held(known: Origin) -> str:
    """What is there, and how to go on."""
    return f"it has the tables of {known}: name another folder, or replace them with --replace (replace=True)"
