"""What a sink has written and not yet published, and which epochs of which query went out.

Tasks stage rows under ids that nobody else has. The query's driver then commits the ids of one epoch, and
the journal of the query says so before the first row goes out. Whoever commits an epoch again gets the rest
of what was journalled, which is nothing unless publishing failed: so no row goes out twice.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.errors import InvalidInput, NotRetained, TooLarge
from giusto.retain import columns
from giusto.retain.cursors import replace as replace_file

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES = 1 << 30
EXPIRE_NS = 3_600 * 1_000_000_000
"""Tasks whose driver died leave rows that nobody commits."""

_ID = re.compile(r"[0-9a-f]{32}-\d{6}")


@dataclass(frozen=True, slots=True)
class Epoch:
    """The last epoch of a query: what belongs to it, and how many of its rows went out."""

    query: str
    epoch: int
    ids: list[str]
    published: int = 0
    is_done: bool = False


class Staging:
    """Staged rows and journals, in a folder."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._staged, self._journals = folder / "staged", folder / "epochs"
        self._max_bytes = max_bytes
        for one in (self._staged, self._journals):
            one.mkdir(parents=True, exist_ok=True)

    def stage(self, id: str, body: bytes) -> None:
        """Keep rows, as an Arrow stream, under an id of one task and the number of the part."""
        if not _ID.fullmatch(id):
            raise InvalidInput("id", id, "32 hexadecimal digits and the number of the part")
        staged = self.bytes
        if staged + len(body) > self._max_bytes:
            raise TooLarge("rows staged by sinks", staged + len(body), self._max_bytes)
        path = self._staged / id
        beside = path.with_suffix(".tmp")
        beside.write_bytes(body)
        beside.replace(path)

    @property
    def bytes(self) -> int:
        """What is staged."""
        return sum(path.stat().st_size for path in self._staged.iterdir())

    def begin(self, query: str, epoch: int, ids: Sequence[str]) -> Epoch | None:
        """What is to be published for an epoch: nothing if it went out, the rest of it if a part did."""
        last = self.last(query)
        if last is not None and epoch <= last.epoch:
            self.drop([id for id in ids if last.is_done or id not in last.ids])
            return last if epoch == last.epoch and not last.is_done else None
        missing = [id for id in ids if not _ID.fullmatch(id) or not (self._staged / id).exists()]
        if missing:
            problem = f"{len(missing)} of {len(ids)} staged parts are gone; run the epoch again"
            raise NotRetained(f"epoch {epoch} of {query}", problem)
        return self._note(Epoch(query, epoch, list(ids)))

    def rows(self, epoch: Epoch) -> Iterator[pa.RecordBatch]:
        """The rows of an epoch that did not go out yet, in order."""
        skip = epoch.published
        for id in epoch.ids:
            for batch in columns.decode((self._staged / id).read_bytes()).to_batches():
                rest = batch.slice(min(skip, batch.num_rows))
                skip -= batch.num_rows - rest.num_rows
                if rest.num_rows:
                    yield rest

    def went_out(self, epoch: Epoch, rows: int) -> Epoch:
        """Note that more rows were published."""
        return self._note(replace(epoch, published=epoch.published + rows))

    def finish(self, epoch: Epoch) -> None:
        """All rows of an epoch were published."""
        self._note(replace(epoch, is_done=True, ids=[]))
        self.drop(epoch.ids)

    def drop(self, ids: Sequence[str]) -> None:
        """Forget staged rows."""
        for id in ids:
            if _ID.fullmatch(id):
                (self._staged / id).unlink(missing_ok=True)

    def expire(self, wall_ns: int | None = None) -> int:
        """Forget what was staged long ago and belongs to no epoch; how many parts those were."""
        wall_ns = time.time_ns() if wall_ns is None else wall_ns
        journalled = {id for one in self.unfinished() for id in one.ids}
        old = [
            path
            for path in self._staged.iterdir()
            if path.name not in journalled and path.stat().st_mtime_ns < wall_ns - EXPIRE_NS
        ]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def last(self, query: str) -> Epoch | None:
        """The last epoch of a query."""
        path = self._journal(query)
        return _epoch(path) if path.exists() else None

    def unfinished(self) -> list[Epoch]:
        """Epochs that were committed and did not go out whole."""
        return [one for one in map(_epoch, self._journals.glob("*.json")) if not one.is_done]

    def _note(self, epoch: Epoch) -> Epoch:
        replace_file(self._journal(epoch.query), json.dumps(asdict(epoch)))
        return epoch

    def _journal(self, query: str) -> Path:
        return self._journals / f"{hashlib.sha256(query.encode()).hexdigest()[:32]}.json"


def _epoch(path: Path) -> Epoch:
    try:
        return Epoch(**json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError):
        raise NotRetained(str(path), "not the journal of a sink; remove it") from None
