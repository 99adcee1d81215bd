"""Which epoch of which query went out last, and how much of it: a small file for each query, replaced whole.

Unfinished epochs are also held in memory, so that nobody has to read all files to know them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from giusto.errors import NotRetained
from giusto.retain.cursors import replace as replace_file
from giusto.retain.requests import BATCH

QUERIES_MAX = 10_000
"""Of which the last epoch is known; of more, those that were not heard of for longest are forgotten."""
BATCH_KEPT_NS = 3_600 * 1_000_000_000
"""A batch has one epoch, and is committed again within minutes if at all."""
ASIDE = ".damaged"

_log = logging.getLogger("giusto.retain")


@dataclass(frozen=True, slots=True)
class Epoch:
    """The last epoch of a query: what belongs to it, and how many of its rows went out."""

    query: str
    epoch: int
    ids: list[str]
    published: int = 0
    is_done: bool = False

    def __str__(self) -> str:
        return f"epoch {self.epoch} of {self.query}"


class Journals:
    """The last epochs of all queries, in a folder. Any thread may call."""

    def __init__(self, folder: Path, queries_max: int = QUERIES_MAX) -> None:
        self._folder, self._queries_max = folder, queries_max
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._unfinished: dict[str, Epoch] = {}
        self._done_ns: dict[str, int] = {}
        self._load()

    def last(self, query: str) -> Epoch | None:
        """The last epoch of a query."""
        with self._lock:
            if query in self._unfinished:
                return self._unfinished[query]
            return _epoch(self._path(query)) if query in self._done_ns else None

    def unfinished(self) -> list[Epoch]:
        """Epochs that were committed and did not go out whole."""
        with self._lock:
            return list(self._unfinished.values())

    def note(self, epoch: Epoch, wall_ns: int | None = None) -> Epoch:
        """Have the disk know how far an epoch is."""
        with self._lock:
            replace_file(self._path(epoch.query), json.dumps(asdict(epoch)))
            self._remember(epoch, time.time_ns() if wall_ns is None else wall_ns)
        return epoch

    def put_aside(self, epoch: Epoch) -> None:
        """Keep the file under another name: the query may begin the epoch anew."""
        with self._lock:
            path = self._path(epoch.query)
            path.replace(path.with_suffix(ASIDE))
            self._unfinished.pop(epoch.query, None)

    def forget(self, wall_ns: int) -> None:
        """Remove batches that went out long ago, and what is too much."""
        with self._lock:
            old = [
                query
                for query, done_ns in self._done_ns.items()
                if query.startswith(BATCH) and done_ns < wall_ns - BATCH_KEPT_NS
            ]
            surplus = list(self._done_ns)[: max(0, len(self._done_ns) - self._queries_max)]
            for query in {*old, *surplus}:
                self._path(query).unlink(missing_ok=True)
                del self._done_ns[query]

    def _remember(self, epoch: Epoch, wall_ns: int) -> None:
        # The last that was heard of stands last.
        self._unfinished.pop(epoch.query, None)
        self._done_ns.pop(epoch.query, None)
        if epoch.is_done:
            self._done_ns[epoch.query] = wall_ns
        else:
            self._unfinished[epoch.query] = epoch

    def _load(self) -> None:
        found = [(path.stat().st_mtime_ns, path) for path in self._folder.glob("*.json")]
        for wall_ns, path in sorted(found):
            try:
                self._remember(_epoch(path), wall_ns)
            except NotRetained as error:
                _log.error("%s; it is put aside", error)
                path.replace(path.with_suffix(ASIDE))

    def _path(self, query: str) -> Path:
        return self._folder / f"{hashlib.sha256(query.encode()).hexdigest()[:32]}.json"


def _epoch(path: Path) -> Epoch:
    try:
        return Epoch(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        raise NotRetained(str(path), "not the journal of a sink") from None
