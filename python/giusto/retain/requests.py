"""What is asked of whoever keeps logs, and what is answered: MessagePack on reserved topics.

A reply has to fit into an ordinary message. What is longer comes in parts: the same question with a larger
`skip`. Rows are Arrow streams.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from giusto.errors import InvalidInput

LOG = "$giusto/log/"
SINK = "$giusto/sink/"
RECORDS = "$giusto/records/"
BESIDE = "$giusto/beside/"
BATCH = "batch "
"""How the name of a query begins that has one epoch only."""
OWNER = 16
"""So many of the hexadecimal digits of an id are the same for all parts that a query stages."""
PART_BYTES = 1_000_000
"""Of a reply: within the size that a message has unless it is offered with another."""

_Any = TypeVar("_Any")


class Find(msgspec.Struct, frozen=True):
    """Which log has all messages of these topics?"""

    pattern: str


class LogIs(msgspec.Struct, frozen=True):
    """One log: rows from `first` up to `head` are there."""

    id: str
    pattern: str
    first: int
    head: int
    bytes: int = 0
    lost: dict[str, int] = {}
    cursors: dict[str, int] = {}


class Head(msgspec.Struct, frozen=True):
    """How far is this log?"""

    log: str


class Fetch(msgspec.Struct, frozen=True):
    """Rows of a log from `start` up to `end`, or as many as are worth one answer.

    `query` is whoever will commit what it has done with; `skips_damage` goes on without what cannot be read.
    """

    log: str
    start: int
    end: int
    pattern: str | None = None
    filter: str | None = None
    skip: int = 0
    query: str | None = None
    skips_damage: bool = False


class Part(msgspec.Struct, frozen=True):
    """`body` is a part of `size` bytes; rows from `next` on are still to be asked for.

    `damaged` rows before that could not be read.
    """

    next: int
    size: int
    body: bytes
    damaged: int = 0


class Commit(msgspec.Struct, frozen=True):
    """A query has done with all rows before `position`."""

    log: str
    query: str
    position: int


class Stage(msgspec.Struct, frozen=True):
    """Rows to be published, later and together, if their `id` is committed."""

    id: str
    rows: int
    body: bytes


class Publish(msgspec.Struct, frozen=True):
    """Publish what was staged under these ids, once for a query and an epoch."""

    query: str
    epoch: int
    ids: list[str]


class Published(msgspec.Struct, frozen=True):
    """How many rows went out now; `again`: the epoch had been published before."""

    rows: int
    again: bool


class Abort(msgspec.Struct, frozen=True):
    """Forget what was staged under these ids."""

    ids: list[str]


class Done(msgspec.Struct, frozen=True):
    """It is done."""


class RecordFile(msgspec.Struct, frozen=True):
    """One whole file of records."""

    name: str
    bytes: int


class FetchFile(msgspec.Struct, frozen=True):
    """The bytes of a file of records from `skip` on."""

    name: str
    skip: int


class Written(msgspec.Struct, frozen=True):
    """How many files of a writer were there, with numbers after the first up to the second?"""

    writer: str
    after: int
    last: int


class Count(msgspec.Struct, frozen=True):
    """So many."""

    files: int


_encoder = msgspec.msgpack.Encoder()


def encode(said: msgspec.Struct | list[LogIs] | list[RecordFile]) -> bytes:
    """A question or an answer as a payload."""
    return _encoder.encode(said)


def decode(payload: bytes, kind: type[_Any]) -> _Any:
    """What a payload says; raises `InvalidInput` for what says something else."""
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except (msgspec.DecodeError, ValueError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise InvalidInput("request", f"{len(payload)} bytes", f"{name}: {error}") from None
