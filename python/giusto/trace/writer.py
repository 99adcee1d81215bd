"""When records go to the disk: a thread drains them, gathers row groups and ends files, another waits for it.

Nothing here is on the way of a message. If the disk is full, records are dropped and counted, and a new file
is tried a second later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from giusto import _core
from giusto.errors import InvalidInput, NotInstalled
from giusto.trace.clock import wall_offset_ns
from giusto.trace.file import RecordFile
from giusto.trace.layout import FileFacts
from giusto.trace.options import Options
from giusto.trace.shelf import Shelf, remove

GROUP_ROWS = 131_072
"""Rows that are written at once."""
BUSY_ROWS = 4_096
"""A drain that brings so many is followed by the next one soon: what was just written is in the cache."""
BUSY_SECONDS = 0.01
RETRY_NS = 1_000_000_000
FLUSH_NS = 1_000_000_000
OFFSET_STEP_NS = 1_000_000
"""By less the time of day may drift from the clock of the records before a file says so."""

_log = logging.getLogger("giusto.trace")


class TraceWriter:
    """Writes what `drain` hands out into a trace folder, from `start` to `stop`."""

    def __init__(
        self,
        options: Options,
        drain: Callable[[], _core.Batch | _core.Portion | None],
        *,
        node: str,
        run: str,
        clock: Callable[[], int] = time.monotonic_ns,
        wall_offset: Callable[[], int] = wall_offset_ns,
    ) -> None:
        if options.folder is None:
            raise InvalidInput("trace.folder", None, "the folder that the files go to")
        load_arrow()
        self._options = options
        self._drain = drain
        self._clock = clock
        self._wall_offset = wall_offset
        self._offset_ns = wall_offset()
        self._shelf = Shelf(Path(options.folder), node, run, options.limits)
        self._encoder = _core.RecordEncoder()
        self._file: RecordFile | None = None
        self._sequence = 0
        self._since_ns: int | None = None
        self._blocked_until_ns: int | None = None
        self._flush_at_ns = clock() + FLUSH_NS
        self._stopping = threading.Event()
        self._disk = ThreadPoolExecutor(1, "giusto-trace-disk")
        self._thread = threading.Thread(target=self._run, name="giusto-trace", daemon=True)

    def start(self) -> None:
        """Write from now on, in threads of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Write what is left and end; returns when all files are complete."""
        self._stopping.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._disk.shutdown()
        while self.turn():
            pass
        self._end_file()
        self._shelf.close()

    def state(self, facts: dict[str, Any]) -> None:
        """Keep what the records alone do not say; what is as before is not written again."""
        self._let_disk(self._shelf.state, facts)

    def drop(self, rows: int) -> None:
        """Say that so many records found no room before they came here."""
        self._shelf.manifest.drop(rows, "ring")

    # --- one look at what has come

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            pause = BUSY_SECONDS if self._try_turn() >= BUSY_ROWS else self._options.every_ns / 1e9

    def _try_turn(self) -> int:
        """A turn that comes back whatever happens: who ends here drains nothing any more."""
        try:
            return self.turn()
        except Exception:
            _log.exception("records cannot be taken or written")
            return 0

    def turn(self) -> int:
        """Take what has been recorded and write what is due; how many records there were."""
        batch = self._drain()
        rows = 0 if batch is None else len(batch)
        if batch is not None:
            self._shelf.manifest.drop(batch.dropped, "ring")
            self._shelf.manifest.drop(batch.skipped, "sampling")
        now = self._clock()
        if batch is not None and rows:
            self._gather(batch, now)
        self._write_due(now)
        if now >= self._flush_at_ns:
            self._flush_at_ns = now + FLUSH_NS
            self._let_disk(self._shelf.manifest.flush)
        return rows

    def _gather(self, batch: _core.Batch | _core.Portion, now: int) -> None:
        if self._blocked_until_ns is not None and now < self._blocked_until_ns:
            self._shelf.manifest.drop(len(batch), "disk")
            return
        self._blocked_until_ns = None
        self._since_ns = now if self._since_ns is None else self._since_ns
        self._encoder.add(batch)

    def _write_due(self, now: int) -> None:
        if self._since_ns is None:
            return
        rows = self._encoder.rows + self._encoder.waiting
        size = 0 if self._file is None else self._file.bytes
        is_due = self._options.is_due(rows, size, now - self._since_ns)
        if is_due:
            self._end_file()
        elif self._encoder.waiting >= GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        """What has been gathered becomes a row group; if that fails, it is dropped with its file."""
        rows = self._encoder.rows + self._encoder.waiting
        if not self._encoder.waiting:
            return
        try:
            if self._file is None:
                self._sequence, path = self._shelf.next_file()
                self._file = RecordFile(path, self._encoder)
            self._file.write_group()
        except Exception as error:
            self._give_up(rows, error)

    def _give_up(self, rows: int, error: Exception) -> None:
        _log.warning("records cannot be written: %s; the next file is tried in a second", error)
        file, self._file = self._file, None
        self._encoder.clear()
        self._shelf.manifest.drop(rows, "disk")
        self._since_ns = None
        self._blocked_until_ns = self._clock() + RETRY_NS
        if file is not None:
            file.abandon()
            remove(file.path)

    def _end_file(self) -> None:
        self._write_group()
        file, self._file, self._since_ns = self._file, None, None
        if file is None:
            return
        facts = FileFacts(
            run=self._shelf.run,
            node=self._shelf.node,
            sequence=self._sequence,
            rows=file.rows,
            first_ns=file.first_ns,
            last_ns=file.last_ns,
            wall_offset_ns=self._steady_offset_ns(),
            sampling=self._options.sampling,
        )
        try:
            file.close(facts)
        except Exception as error:
            self._file = file
            self._give_up(facts.rows, error)
            return
        self._let_disk(self._shelf.finish, file.path, facts)

    def _let_disk(self, work: Callable[..., object], *arguments: object) -> None:
        """Have the disk's thread do something; at the end, when there is none any more, it is done here."""
        try:
            self._disk.submit(work, *arguments).add_done_callback(_look)
        except RuntimeError:
            work(*arguments)

    def _steady_offset_ns(self) -> int:
        """The same in all files, unless the time of day was set: who reads them groups them by it."""
        offset_ns = self._wall_offset()
        if abs(offset_ns - self._offset_ns) > OFFSET_STEP_NS:
            self._offset_ns = offset_ns
        return self._offset_ns


def _look(done: Future[object]) -> None:
    """Say what went wrong beside: nobody else asks."""
    error = None if done.cancelled() else done.exception()
    if error is not None:
        _log.error("the disk's thread failed: %s", error, exc_info=error)


def load_arrow() -> None:
    """Load what writes files, which takes a while: records would find no room meanwhile."""
    try:
        import pyarrow.compute
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise NotInstalled("pyarrow", "pip install pyarrow") from None
