"""Micro-batches of topics that nobody retains: what comes while the query runs, at most once.

The log is in the memory of the query's driver. It has an id of its own, which offsets carry: after a restart
another log begins, and what came in between, or was in a batch that did not end, is lost and said so.
"""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from giusto.client import Bus, Subscription, connect
from giusto.errors import Closed, InvalidInput, TimedOut
from giusto.pipeline.source.inaline import in_a_line
from giusto.pipeline.source.options import Options
from giusto.pipeline.source.rows import for_spark
from giusto.pipeline.source.stream import default_limit
from giusto.retain import columns

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_MAX = 1_000_000
TAKE = 8_192

_log = logging.getLogger("giusto.pipeline")


class MemoryLog:
    """Batches by position; the oldest go when there are more rows than `most`."""

    def __init__(self, most: int = ROWS_MAX) -> None:
        self.id = uuid4().hex
        self.dropped = 0
        self._most = most
        self._batches: list[pa.RecordBatch] = []
        self._ends: list[int] = []
        self._first = 0
        self._lock = threading.Lock()

    @property
    def head(self) -> int:
        """The position that the next row gets."""
        with self._lock:
            return self._ends[-1] if self._ends else self._first

    def append(self, rows: pa.RecordBatch, wall_offset_ns: int) -> None:
        """Take rows in."""
        first = self.head
        with self._lock:
            self._batches.append(columns.placed(rows, first, wall_offset_ns))
            self._ends.append(first + rows.num_rows)
            while len(self._ends) > 1 and self._ends[-1] - self._first > self._most:
                self.dropped += self._ends[0] - self._first
                self._remove(1)

    def fetch(self, start: int, end: int) -> list[pa.RecordBatch]:
        """The rows of a range that are still there."""
        with self._lock:
            firsts = [self._first, *self._ends]
            found = []
            for first, batch in zip(firsts, self._batches, strict=False):
                begin, stop = max(start - first, 0), min(end - first, batch.num_rows)
                if begin < stop:
                    found.append(batch.slice(begin, stop - begin))
            return found

    def trim(self, position: int) -> None:
        """Nobody asks for rows before this any more."""
        with self._lock:
            self._remove(bisect_right(self._ends, position))

    def _remove(self, count: int) -> None:
        if count:
            self._first = self._ends[count - 1]
            del self._batches[:count], self._ends[:count]


class Listener:
    """Subscribes for a query, and keeps what comes in memory."""

    def __init__(self, options: Options, log: MemoryLog) -> None:
        self._log = log
        self._ending = threading.Event()
        self._bus: Bus = connect(options.url)
        self._subscription: Subscription = self._bus.subscribe(options.pattern, filter=options.filter)
        self._thread = threading.Thread(target=self._run, name="giusto-listener", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> int:
        """Messages that were published and did not come."""
        return sum(one.lost + one.dropped for one in self._subscription.report.topics)

    def close(self) -> None:
        """Listen no more."""
        self._ending.set()
        self._thread.join()
        self._bus.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                rows = columns.rows_of(self._subscription.receive_many(TAKE, "100ms"))
                self._log.append(rows, time.time_ns() - time.monotonic_ns())
            except TimedOut:
                continue
            except Closed:
                # It is being restored.
                self._ending.wait(0.1)


@dataclass
class CarriedPartition(InputPartition):
    """Rows for a task: they are in the driver alone."""

    body: bytes


@in_a_line
class VolatileStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what comes while it runs."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._log = MemoryLog()
        self._listener: Listener | None = None
        self._target: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For tasks, which need the options alone."""
        return {"_options": self._options}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's names here and below)
        """A new query begins now."""
        self._listen()
        return self._offset(0)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The option `maxRowsPerTrigger`."""
        return default_limit(self._options)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Go no further than what has come."""
        self._listen()
        self._target = self._log.head

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next batch ends."""
        self._require_ours(start)
        self._listen()
        begin = int(start["position"]) if start["volatile"] == self._log.id else 0
        end = self._log.head if self._target is None else min(self._log.head, self._target)
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        return self._offset(max(begin, end))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The rows of a batch, as far as this process has them."""
        if end["volatile"] != self._log.id:
            _log.warning("%s: a batch before the restart is lost: the topic is not retained", end["topic"])
            return []
        if start["volatile"] != self._log.id:
            _log.warning("%s: what came before the restart is lost: it is not retained", end["topic"])
        begin = int(start["position"]) if start["volatile"] == self._log.id else 0
        rows = self._log.fetch(begin, int(end["position"]))
        return [CarriedPartition(columns.encode(rows, columns.fetched()))] if rows else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows that came with the task."""
        assert isinstance(partition, CarriedPartition)
        return for_spark([columns.decode(partition.body)])

    def commit(self, end: dict[str, Any]) -> None:
        """Forget what will not be asked for again; say what was lost."""
        if end["volatile"] == self._log.id:
            self._log.trim(int(end["position"]))
        lost = self._log.dropped + (0 if self._listener is None else self._listener.lost)
        if lost:
            _log.warning("%s: %d messages lost so far: the query is too slow for them", end["topic"], lost)

    def stop(self) -> None:
        """Listen no more."""
        if self._listener is not None:
            self._listener.close()

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = Listener(self._options, self._log)

    def _offset(self, position: int) -> dict[str, Any]:
        return {"volatile": self._log.id, "topic": self._options.pattern, "position": position}

    def _require_ours(self, offset: dict[str, Any]) -> None:
        if "volatile" not in offset or offset.get("topic") != self._options.pattern:
            expected = f"the checkpoint of a query on {self._options.pattern} with volatile=true"
            raise InvalidInput(
                "checkpoint", "of another query", f"{expected}; choose a new checkpointLocation"
            )
