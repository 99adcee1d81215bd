"""The sink: tasks stage rows at the steward, the driver commits an epoch, and its rows go out once.

An epoch is known by the query and its number. Whoever commits it again, such as a driver that was killed
before it could write its checkpoint, changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from giusto.errors import Missing
from giusto.pipeline.source.inaline import in_a_line
from giusto.pipeline.source.options import Options
from giusto.pipeline.source.outgoing import Layout, parts
from giusto.pipeline.source.remote import Remote
from giusto.retain.requests import BATCH, OWNER

if TYPE_CHECKING:
    import pyarrow as pa


QUERY_ID = "sql.streaming.queryId"
"""Where Spark tells tasks the id of their query: the one in its checkpoint."""


@dataclass
class Staged(WriterCommitMessage):
    """What one task handed over."""

    ids: list[str] = field(default_factory=list)


def staged(batches: Iterator[pa.RecordBatch], options: Options, layout: Layout, owner: str) -> Staged:
    """Hand all rows of a task over, under an id that says whose they are and that no other attempt has."""
    remote, task, ids = Remote(options), owner + uuid4().hex[OWNER:], []
    for number, (rows, body) in enumerate(parts(batches, layout)):
        ids.append(f"{task}-{number:06d}")
        remote.stage(ids[-1], rows, body)
    return Staged(ids)


def ids_of(messages: list[Any]) -> list[str]:
    """All parts of all tasks that ended well, in their order."""
    return [id for message in messages if isinstance(message, Staged) for id in message.ids]


def owner_of(query: str) -> str:
    """How the ids of a query's parts begin: those that failed attempts left are known by it."""
    return sha256(query.encode()).hexdigest()[:OWNER]


@in_a_line
class TopicWriter(DataSourceArrowWriter):
    """Publishes the rows of a batch, all of them or none."""

    def __init__(self, options: Options, layout: Layout) -> None:
        self._options, self._layout, self._query = options, layout, BATCH + uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task."""
        return staged(iterator, self._options, self._layout, owner_of(self._query))

    def commit(self, messages: list[Any]) -> None:
        """In the driver, when all tasks are done."""
        Remote(self._options).publish(self._query, 0, ids_of(messages))

    def abort(self, messages: list[Any]) -> None:
        """In the driver, when one failed."""
        Remote(self._options).abort(ids_of(messages))


@in_a_line
class TopicStreamWriter(DataSourceStreamArrowWriter):
    """Publishes the rows of each epoch once."""

    def __init__(self, options: Options, layout: Layout) -> None:
        self._options, self._layout = options, layout

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In each task, where the checkpoint may be out of reach."""
        context = TaskContext.get()
        told = None if context is None else context.getLocalProperty(QUERY_ID)
        return staged(
            iterator, self._options, self._layout, owner_of(self._options.query or told or uuid4().hex)
        )

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
        raise Missing("option query", f"{problem}, or the option checkpointLocation")
    url = urlsplit(options.checkpoint)
    path = Path(unquote(url.path) if url.scheme == "file" else options.checkpoint) / "metadata"
    try:
        return str(json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["id"])
    except (OSError, ValueError, KeyError, IndexError):
        raise Missing("option query", f"{problem}: {path} cannot be read here") from None
