"""How pieces of flows travel between Spark and NumPy: rows by flow and slice in, one per flow out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from giusto.pipeline.tables.envelope import LIMIT, Excess, Piece, joined, piece_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS_MAX = 1_000
"""Flows in one batch that goes back."""
MESSAGES_LEAST = 2**16
"""Messages that are sorted at once, if there are so many."""
SLICE_BITS = 30
"""So long is the number of a slice: clocks show less than 2⁶³ ns."""
EXCESSES = ("messages", "bytes")
SCHEMA = (
    "run string, publisher string, topic string, min_sep_ns long, count long, size_bytes long, "
    "first_ns long, last_ns long, largest_bytes long, closer long, exact boolean, "
    "least_allowed_ns long, most_allowed_ns long, "
    "messages_best array<long>, messages_prefix array<long>, messages_suffix array<long>, "
    "bytes_best array<long>, bytes_prefix array<long>, bytes_suffix array<long>"
)
PLAIN = (
    *("count", "size_bytes", "first_ns", "last_ns", "largest_bytes", "closer", "exact"),
    *("least_allowed_ns", "most_allowed_ns"),
)


class Flow(NamedTuple):
    """What one client publishes on one topic, as long as it offers the same."""

    run: str | None
    publisher: str | None
    topic: str | None
    min_sep_ns: int | None


@dataclass
class Folding:
    """Puts pieces of flows together, in order of time; those of one number are done when another begins.

    A number stands for a flow. If it stands for two of them nothing is lost: both are kept meanwhile.
    """

    number: int | None = None
    pieces: dict[Flow, Piece] = field(default_factory=dict)
    done: list[dict[str, Any]] = field(default_factory=list)

    def add(self, number: int, flow: Flow, piece: Piece) -> None:
        """The next piece."""
        if number != self.number:
            self.close()
            self.number = number
        known = self.pieces.get(flow)
        self.pieces[flow] = piece if known is None else joined(known, piece, flow.min_sep_ns)

    def close(self) -> None:
        """The present flows are done."""
        self.done += [{**flow._asdict(), **row_of(piece)} for flow, piece in self.pieces.items()]
        self.pieces = {}

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
    """Pieces as rows, in order of the flow's `number` and time: one row per flow."""
    folding = Folding()
    for batch in batches:
        for row in batch.to_pylist():
            folding.add(row["number"], Flow(*(row[name] for name in Flow._fields)), piece_in(row))
            yield from folding.batches(least=ROWS_MAX)
    folding.close()
    yield from folding.batches()


def fold_messages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Messages in order of `place`, perhaps repeated: one row per flow.

    A place is a number of the flow and then, in SLICE_BITS, the slice. What is in one place is sorted here:
    for Spark to sort by a single number is quick, and by several it is not.
    """
    folding = Folding()
    for found in whole_places(batches):
        add_parts(folding, found)
        yield from folding.batches(least=ROWS_MAX)
    folding.close()
    yield from folding.batches()


def whole_places(batches: Iterable[pa.RecordBatch], least: int = MESSAGES_LEAST) -> Iterator[pa.Table]:
    """The same rows, cut where a place ends whenever so many have come."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows == 0:
            continue
        kept.append(batch)
        is_mixed = kept[0].column("place")[0] != batch.column("place")[-1]
        if is_mixed and sum(each.num_rows for each in kept) >= least:
            found = pa.Table.from_batches(kept)
            place = numbers(found, "place")
            end = int(np.searchsorted(place, place[-1]))
            yield found.slice(0, end)
            kept = found.slice(end).to_batches()
    if kept:
        yield pa.Table.from_batches(kept)


def add_parts(folding: Folding, found: pa.Table) -> None:
    """The messages of whole places, what is of one flow and slice as one piece."""
    sequence, at_ns, place = (numbers(found, name) for name in ("sequence", "t_sent_ns", "place"))
    flow = flow_numbers(found)
    order = np.lexsort((sequence, at_ns, flow, place))
    is_first = changes(place[order]) | changes(flow[order])
    is_new = is_first | changes(at_ns[order]) | changes(sequence[order])
    rows = order[is_new]
    at_ns, size_bytes = at_ns[rows], numbers(found, "size_bytes")[rows]
    starts = [*np.flatnonzero(is_first[is_new]).tolist(), len(rows)]
    for start, end in pairwise(starts):
        row = int(rows[start])
        offered = Flow(*(found.column(name)[row].as_py() for name in Flow._fields))
        piece = piece_of(at_ns[start:end], size_bytes[start:end], offered.min_sep_ns)
        folding.add(int(place[row]) >> SLICE_BITS, offered, piece)


def flow_numbers(found: pa.Table) -> NDArray[np.int64]:
    """The same number for rows of one flow, and for no others."""
    number = np.zeros(found.num_rows, np.int64)
    for name in Flow._fields:
        codes = found.column(name).combine_chunks().dictionary_encode()
        kinds = len(codes.dictionary) + 1
        if int(number.max()) > LIMIT // kinds:
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
        number = number * kinds + codes.indices.fill_null(kinds - 1).to_numpy(zero_copy_only=False)
    return number


def changes(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a value is not the one before it."""
    found = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def numbers(found: pa.RecordBatch | pa.Table, name: str) -> NDArray[np.int64]:
    """A column without nulls."""
    values: NDArray[np.int64] = found.column(name).to_numpy(zero_copy_only=False)
    return values
