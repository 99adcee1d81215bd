"""The sink: tasks stage rows at the steward, the driver commits an epoch, and its rows go out once.

An epoch is known by the query and its number. Whoever commits it again, such as a driver that was killed
before it could write its checkpoint, changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from giusto.errors import InvalidInput
from giusto.pipeline.source.options import Options
from giusto.pipeline.source.outgoing import Layout, parts
from giusto.pipeline.source.remote import Remote
from giusto.retain.requests import BATCH

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Staged(WriterCommitMessage):
    """What one task handed over."""

    ids: list[str] = field(default_factory=list)


def staged(batches: Iterator[pa.RecordBatch], options: Options, layout: Layout) -> Staged:
    """Hand all rows of a task over, under an id that no other attempt has."""
    remote, task, ids = Remote(options), uuid4().hex, []
    for number, (rows, body) in enumerate(parts(batches, layout)):
        ids.append(f"{task}-{number:06d}")
        remote.stage(ids[-1], rows, body)
    return Staged(ids)


def ids_of(messages: list[Any]) -> list[str]:
    """All parts of all tasks that ended well, in their order."""
    return [id for message in messages if isinstance(message, Staged) for id in message.ids]


class TopicWriter(DataSourceArrowWriter):
    """Publishes the rows of a batch, all of them or none."""

    def __init__(self, options: Options, layout: Layout) -> None:
        self._options, self._layout = options, layout

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task."""
        return staged(iterator, self._options, self._layout)

    def commit(self, messages: list[Any]) -> None:
        """In the driver, when all tasks are done."""
        Remote(self._options).publish(BATCH + uuid4().hex, 0, ids_of(messages))

    def abort(self, messages: list[Any]) -> None:
        """In the driver, when one failed."""
        Remote(self._options).abort(ids_of(messages))


class TopicStreamWriter(DataSourceStreamArrowWriter):
    """Publishes the rows of each epoch once."""

    def __init__(self, options: Options, layout: Layout) -> None:
        self._options, self._layout = options, layout

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task."""
        return staged(iterator, self._options, self._layout)

    def commit(self, messages: list[Any], batchId: int) -> None:
        """In the driver, when all tasks of an epoch are done."""
        Remote(self._options).publish(query_of(self._options), batchId, ids_of(messages))

    def abort(self, messages: list[Any], batchId: int) -> None:
        """In the driver, when one failed."""
        Remote(self._options).abort(ids_of(messages))


def query_of(options: Options) -> str:
    """What names a query over all its restarts: the option, or the id that its checkpoint has."""
    if options.query is not None:
        return options.query
    problem = "a name that belongs to this checkpoint alone"
    if options.checkpoint is None:
        raise InvalidInput("option query", "missing", f"{problem}, or the option checkpointLocation")
    url = urlsplit(options.checkpoint)
    path = Path(unquote(url.path) if url.scheme == "file" else options.checkpoint) / "metadata"
    try:
        return str(json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["id"])
    except (OSError, ValueError, KeyError, IndexError):
        raise InvalidInput("option query", "missing", f"{problem}: {path} cannot be read here") from None
