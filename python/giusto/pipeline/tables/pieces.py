"""How pieces of flows travel between Spark and NumPy: rows in order of flow and time in, one per flow out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from giusto.pipeline.tables.envelope import Excess, Piece, joined, piece_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS_MAX = 1_000
"""Flows in one batch that goes back."""
EXCESSES = ("messages", "bytes")
SCHEMA = (
    "run string, publisher string, topic string, min_sep_ns long, count long, size_bytes long, "
    "first_ns long, last_ns long, largest_bytes long, broken long, exact boolean, "
    "messages_best array<long>, messages_prefix array<long>, messages_suffix array<long>, "
    "bytes_best array<long>, bytes_prefix array<long>, bytes_suffix array<long>"
)
PLAIN = ("count", "size_bytes", "first_ns", "last_ns", "largest_bytes", "broken", "exact")


class Flow(NamedTuple):
    """What one client publishes on one topic, as long as it offers the same."""

    run: str | None
    publisher: str | None
    topic: str | None
    min_sep_ns: int | None


@dataclass
class Folding:
    """Puts pieces of one flow after the other together; a flow is done when another one begins."""

    flow: Flow | None = None
    piece: Piece | None = None
    done: list[dict[str, Any]] = field(default_factory=list)

    def add(self, flow: Flow, piece: Piece) -> None:
        """The next piece."""
        if flow != self.flow:
            self.close()
            self.flow, self.piece = flow, piece
        elif self.piece is not None:
            self.piece = joined(self.piece, piece, flow.min_sep_ns)

    def close(self) -> None:
        """The present flow is done."""
        if self.flow is not None and self.piece is not None:
            self.done.append({**self.flow._asdict(), **row_of(self.piece)})
        self.flow = self.piece = None

    def batches(self, *, least: int = 1) -> Iterator[pa.RecordBatch]:
        """What is done, if there is enough of it."""
        if len(self.done) >= least:
            yield pa.RecordBatch.from_pylist(self.done, arrow_schema())
            self.done = []


def arrow_schema() -> pa.Schema:
    """SCHEMA as Arrow says it."""
    kinds = {
        "string": pa.string(),
        "long": pa.int64(),
        "boolean": pa.bool_(),
        "array<long>": pa.list_(pa.int64()),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in (each.split() for each in SCHEMA.split(", "))])


def row_of(piece: Piece) -> dict[str, Any]:
    """A piece as the columns of a row."""
    row: dict[str, Any] = {name: getattr(piece, name) for name in PLAIN}
    for kind in EXCESSES:
        for name, values in getattr(piece, kind)._asdict().items():
            row[f"{kind}_{name}"] = values.tolist()
    return row


def piece_in(row: dict[str, Any]) -> Piece:
    """The piece that `row_of` made a row of."""
    plain = {name: row[name] for name in PLAIN}
    return Piece(**plain, messages=excess_in(row, "messages"), bytes=excess_in(row, "bytes"))


def excess_in(row: dict[str, Any], kind: str) -> Excess:
    """One of the two."""
    return Excess(*(np.array(row[f"{kind}_{name}"], np.int64) for name in Excess._fields))


def fold_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pieces as rows, in order of flow and time: one row per flow."""
    folding = Folding()
    for batch in batches:
        for row in batch.to_pylist():
            folding.add(Flow(*(row[name] for name in Flow._fields)), piece_in(row))
            yield from folding.batches(least=ROWS_MAX)
    folding.close()
    yield from folding.batches()


def fold_messages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Messages in order of flow, slice, time and sequence, perhaps repeated: one row per flow.

    The column `part` is the same for messages of one flow and slice, and for no others.
    """
    folding = Folding()
    last: tuple[int, int, int] | None = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        part, at_ns, sequence = (numbers(batch, name) for name in ("part", "t_sent_ns", "sequence"))
        is_new = np.ones(batch.num_rows, bool)
        is_new[1:] = (np.diff(part) != 0) | (np.diff(at_ns) != 0) | (np.diff(sequence) != 0)
        is_new[0] = (part[0], at_ns[0], sequence[0]) != last
        last = int(part[-1]), int(at_ns[-1]), int(sequence[-1])
        add_parts(folding, batch, np.flatnonzero(is_new))
        yield from folding.batches(least=ROWS_MAX)
    folding.close()
    yield from folding.batches()


def add_parts(folding: Folding, batch: pa.RecordBatch, rows: NDArray[np.intp]) -> None:
    """The messages in these rows of a batch, each part of them as a piece."""
    if not len(rows):
        return
    part, at_ns, size_bytes = (numbers(batch, name)[rows] for name in ("part", "t_sent_ns", "size_bytes"))
    starts = [0, *(np.flatnonzero(np.diff(part)) + 1), len(rows)]
    for start, end in pairwise(starts):
        place = int(rows[start])
        flow = Flow(*(batch.column(name)[place].as_py() for name in Flow._fields))
        folding.add(flow, piece_of(at_ns[start:end], size_bytes[start:end], flow.min_sep_ns))


def numbers(batch: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    """A column without nulls."""
    found: NDArray[np.int64] = batch.column(name).to_numpy(zero_copy_only=False)
    return found
