"""What a sink has written and not yet published, and what is to go out when an epoch is committed.

Tasks stage rows under ids that nobody else has. The query's driver then commits the ids of one epoch, and
the journal of the query says so before the first row goes out. Whoever commits an epoch again gets the rest
of what was journalled, which is nothing unless publishing failed: so no row goes out twice. An epoch of
which nothing went out may be replaced by another attempt.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from giusto.errors import InvalidInput, NotRetained, TooLarge
from giusto.retain import staged
from giusto.retain.cursors import require_name
from giusto.retain.journal import Epoch, Journals
from giusto.retain.requests import OWNER

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES = 1 << 30
EXPIRE_NS = 3_600 * 1_000_000_000
"""Tasks whose driver died leave rows that nobody commits."""

_ID = re.compile(r"[0-9a-f]{32}-\d{6}")


class Staging:
    """Staged rows and journals, in a folder."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._staged = folder / "staged"
        self._max_bytes = max_bytes
        self._staged.mkdir(parents=True, exist_ok=True)
        self._journals = Journals(folder / "epochs")

    def stage(self, id: str, body: bytes) -> None:
        """Keep rows, as an Arrow stream, under an id of one task and the number of the part."""
        if not _ID.fullmatch(id):
            raise InvalidInput("id", id, "32 hexadecimal digits and the number of the part")
        held = self.bytes
        if held + len(body) > self._max_bytes:
            raise TooLarge("rows staged by sinks", held + len(body), self._max_bytes)
        staged.checked(body)
        path = self._staged / id
        beside = path.with_suffix(".tmp")
        with beside.open("wb") as file:
            file.write(body)
            file.flush()
            # The journal, which is on the disk, will rely on it.
            os.fsync(file.fileno())
        beside.replace(path)

    @property
    def bytes(self) -> int:
        """What is staged."""
        return sum(state.st_size for _, state in self._files())

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Staged parts, less those that go meanwhile."""
        for path in self._staged.iterdir():
            with suppress(FileNotFoundError):
                yield path, path.stat()

    def begin(self, query: str, epoch: int, ids: Sequence[str]) -> Epoch | None:
        """What is to be published for an epoch: nothing if it went out, the rest of it if a part did."""
        require_name(query)
        last = self.last(query)
        if last is not None:
            _require_next(last, epoch)
            if epoch == last.epoch and (last.published or not set(ids) - set(last.ids)):
                self.drop([id for id in ids if id not in last.ids])
                return None if last.is_done else last
        missing = [id for id in ids if not _ID.fullmatch(id) or not (self._staged / id).exists()]
        if missing:
            problem = f"{len(missing)} of {len(ids)} staged parts are gone; run the epoch again"
            raise NotRetained(f"epoch {epoch} of {query}", problem)
        return Epoch(query, epoch, list(ids))

    def journal(self, epoch: Epoch) -> Epoch:
        """From now on the epoch goes out, also if this process dies; what it replaces is forgotten."""
        before = self.last(epoch.query)
        self._journals.note(epoch)
        replaced = [] if before is None else before.ids
        self.drop([id for id in [*replaced, *self._of_same_owners(epoch.ids)] if id not in epoch.ids])
        return epoch

    def _of_same_owners(self, ids: Sequence[str]) -> Iterator[str]:
        """All that queries have staged who staged these: a query does one epoch after the other."""
        owners = {id[:OWNER] for id in ids}
        return (path.name for path in self._staged.iterdir() if path.name[:OWNER] in owners)

    def topics(self, epoch: Epoch) -> set[str]:
        """Where the rows of an epoch go."""
        return {
            topic for id in epoch.ids for topic in self._part(epoch, id).column("topic").unique().to_pylist()
        }

    def rows(self, epoch: Epoch) -> Iterator[pa.RecordBatch]:
        """The rows of an epoch that did not go out yet, in order."""
        skip = epoch.published
        for id in epoch.ids:
            for batch in self._part(epoch, id).to_batches():
                rest = batch.slice(min(skip, batch.num_rows))
                skip -= batch.num_rows - rest.num_rows
                if rest.num_rows:
                    yield rest

    def went_out(self, epoch: Epoch, rows: int) -> Epoch:
        """Note that more rows were published."""
        return self._journals.note(replace(epoch, published=epoch.published + rows))

    def finish(self, epoch: Epoch) -> None:
        """All rows of an epoch were published."""
        self._journals.note(replace(epoch, is_done=True, ids=[]))
        self.drop(epoch.ids)

    def put_aside(self, epoch: Epoch) -> None:
        """An epoch cannot be published any more; the query may begin it anew."""
        last = self.last(epoch.query)
        if last is not None and (last.epoch, last.ids) == (epoch.epoch, epoch.ids):
            self._journals.put_aside(epoch)

    def drop(self, ids: Sequence[str]) -> None:
        """Forget staged rows, unless an epoch waits for them."""
        waited_for = self._waited_for() if ids else set()
        for id in ids:
            if _ID.fullmatch(id) and id not in waited_for:
                (self._staged / id).unlink(missing_ok=True)

    def expire(self, wall_ns: int | None = None) -> int:
        """Forget what was staged long ago and belongs to no epoch; how many parts those were."""
        wall_ns = time.time_ns() if wall_ns is None else wall_ns
        self._journals.forget(wall_ns)
        waited_for = self._waited_for()
        old = [
            path
            for path, state in self._files()
            if path.name not in waited_for and state.st_mtime_ns < wall_ns - EXPIRE_NS
        ]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def last(self, query: str) -> Epoch | None:
        """The last epoch of a query."""
        return self._journals.last(query)

    def unfinished(self) -> list[Epoch]:
        """Epochs that were committed and did not go out whole."""
        return self._journals.unfinished()

    def _waited_for(self) -> set[str]:
        return {id for one in self.unfinished() for id in one.ids}

    def _part(self, epoch: Epoch, id: str) -> pa.Table:
        try:
            return staged.checked((self._staged / id).read_bytes())
        except (OSError, InvalidInput) as error:
            problem = error.strerror if isinstance(error, OSError) else error
            raise NotRetained(str(epoch), f"staged part {id} cannot be read: {problem}") from None


def _require_next(last: Epoch, epoch: int) -> None:
    """Spark counts one by one, and goes on when an epoch is committed: anything else is another query."""
    if epoch == last.epoch or (last.is_done and epoch == last.epoch + 1):
        return
    follows = (
        f"{last.epoch} or {last.epoch + 1}" if last.is_done else f"{last.epoch}, which did not go out whole"
    )
    expected = f"{follows}; give a query with another checkpoint another name, with the option query"
    raise InvalidInput(f"epoch of {last.query}", epoch, expected)
