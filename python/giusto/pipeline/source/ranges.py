"""Positions: where a query begins, how far it goes in one batch, and how a range is split among tasks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any
from uuid import uuid4

from giusto.errors import InvalidInput, NotRetained
from giusto.pipeline.source.options import EARLIEST, LATEST, Options
from giusto.pipeline.source.rows import BATCH_ROWS
from giusto.retain.requests import LogIs

PARTITIONS = 4


def initial(options: Options, log: LogIs) -> dict[str, Any]:
    """The offset at which a new query begins, with a name for the query: so that is in its checkpoint."""
    return {"log": log.id, "topic": options.pattern, "query": uuid4().hex, "position": first_of(options, log)}


def first_of(options: Options, log: LogIs) -> int:
    """The first position that is asked for."""
    if options.start == EARLIEST:
        return log.first
    if options.start == LATEST:
        return log.head
    start = int(options.start)
    if not log.first <= start <= log.head:
        raise InvalidInput("option startingPosition", start, f"a position from {log.first} to {log.head}")
    return start


def require_ours(offset: Mapping[str, Any], options: Options) -> None:
    """Refuse the checkpoint of a query that read something else."""
    topic = offset.get("topic")
    if "log" not in offset or topic != options.pattern:
        read = "another source" if topic is None or "log" not in offset else str(topic)
        expected = f"the checkpoint of a query on {options.pattern}; choose a new checkpointLocation"
        raise InvalidInput("checkpoint", f"of a query on {read}", expected)


def reached(start: Mapping[str, Any], log: LogIs, most: int | None, target: int | None) -> dict[str, Any]:
    """Where the batch that begins at `start` ends: at the head, or after `most` rows, or at `target`."""
    position = int(start["position"])
    if position > log.head:
        problem = f"the query has read up to {position}, and the log ends before {log.head}: it lost its end"
        raise NotRetained(log.pattern, f"{problem}; begin with a new checkpoint")
    end = log.head if target is None else min(log.head, target)
    if most is not None:
        end = min(end, max(position, log.first) + most)
    return {**start, "position": max(end, position)}


def split(start: int, end: int, partitions: int | None) -> list[tuple[int, int]]:
    """A range in parts of about the same size, none of them without rows."""
    rows = end - start
    parts = min(rows, partitions or min(PARTITIONS, -(-rows // BATCH_ROWS)))
    bounds = [start + rows * part // parts for part in range(parts + 1)] if parts else []
    return list(pairwise(bounds))
