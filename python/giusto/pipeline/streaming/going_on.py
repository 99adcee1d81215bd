"""Whether a stream can go on in a folder: only with the records, tables and checkpoint that it had."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.contract.duration import spell_ns
from giusto.errors import InvalidInput
from giusto.pipeline.linking import literal
from giusto.pipeline.origin import Origin, replaced
from giusto.pipeline.output import BUS, STREAM, Output, read_json, remove, write_json
from giusto.pipeline.streaming.batches import STATE
from giusto.pipeline.streaming.slices import State
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.files import COLUMNS
from giusto.pipeline.tables.table import SLICE_NS

if TYPE_CHECKING:
    from giusto.pipeline.fetching import Fetching

FORMAT = 3
QUERY, CHECKPOINT = "query.json", "checkpoint"


@dataclass(slots=True)
class GoingOn:
    """A stream that begins in `out`, or goes on there. All is refused before Spark starts."""

    out: Output
    origin: Origin
    fetching: Fetching | None = None
    is_anew: bool = False

    def require(self, *, replace: bool) -> None:
        """Refuse to go on with something else; with `replace` it gives way, once the stream begins."""
        if literal(self.folder) != str(self.folder):  # Spark's streams take it for a pattern, escaped or not
            raise InvalidInput("out", self.out.path, "for a stream, a path without any of {}[]*?\\")
        before = replaced(self.out, self.origin, replace=replace)
        other = difference(read_json(self.folder / QUERY), self.identity())
        if other is not None and not replace:
            how = "name another folder, or begin anew with --replace (replace=True)"
            raise InvalidInput("out", self.out.path, f"{other}; {how}")
        self.is_anew = before is not None or other is not None
        if not self.is_anew:
            self.require_checkpoint()
        self.require_broker()

    def require_checkpoint(self) -> None:
        """Refuse a checkpoint that is not of the query that wrote the state."""
        known, found = self.state.query, query_id(self.folder)
        place = self.folder / CHECKPOINT
        is_strange = known != found if self.state.batch >= 0 else any((place / "commits").glob("[0-9]*"))
        if is_strange:
            wanted = f"the checkpoint of query {known}, not of {found}; remove {self.folder} to begin anew"
            raise InvalidInput("out", place, wanted)

    def require_broker(self) -> None:
        """A broker has to be there once; a stream that goes on waits for it."""
        if self.fetching is not None and (self.is_anew or self.state.batch < 0):
            self.fetching.names()

    def begin(self) -> None:
        """Take the folder; what was of something else goes."""
        if self.is_anew:
            for name in (STREAM, BUS):
                remove(self.out.path / name)
        self.folder.mkdir(parents=True, exist_ok=True)
        if read_json(self.folder / QUERY) is None:
            write_json(self.folder / QUERY, self.identity())
        self.out.claim(self.origin.to_dict())

    def identity(self) -> dict[str, Any]:
        """What parts of one stream have in common."""
        return {
            "format": FORMAT,
            "records": self.origin.records,
            "columns": list(COLUMNS),
            "tables": [table.name for table in TABLES],
            "slice_ns": SLICE_NS,
            "window_ns": self.origin.window_ns,
        }

    @property
    def state(self) -> State:
        """How far it was."""
        kept = read_json(self.folder / STATE)
        return State() if kept is None else State.from_dict(kept)

    @property
    def folder(self) -> Path:
        """Where all is that a stream needs to go on."""
        return self.out.path / STREAM


def difference(known: dict[str, Any] | None, wanted: dict[str, Any]) -> str | None:
    """What should be the same and is not, in words; nothing is known of a stream that has not begun."""
    for name, value in wanted.items():
        if known is not None and known.get(name) != value:
            before, now = shown(name, known.get(name)), shown(name, value)
            return f"a stream of the same {name.removesuffix('_ns')}: it holds {before}, not {now}"
    return None


def shown(name: str, value: object) -> str:
    """A time as people write it, and anything else as it is."""
    return spell_ns(value) if name.endswith("_ns") and isinstance(value, int) else str(value)


def query_id(folder: Path) -> str | None:
    """By what Spark knows the query of a stream, once it has begun."""
    kept = read_json(folder / CHECKPOINT / "metadata")
    return None if kept is None else kept.get("id")
