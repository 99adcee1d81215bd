"""How many rows a file has of each run and slice, seen without Spark, if nothing is wrong with any of them.

A file is read to its end before it is let in; while it is, each batch of it is looked at as a whole. What is
found sound here is sound for `bronze.reason`. Of any other file nothing is said: Spark asks each of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from giusto.pipeline.streaming.slices import Group
from giusto.pipeline.tables.bronze import INSTANTS, LONGEST_NS, MOST, NEEDED, SPANS, STANDSTILL_NS
from giusto.pipeline.tables.files import LATEST_NS
from giusto.pipeline.tables.table import SLICE_NS
from giusto.record import Outcome

if TYPE_CHECKING:
    import pyarrow as pa

# Half of what an instant may be: so that nothing leaves 64 bits when both are added.
FAR_NS = LATEST_NS // 2
RANGES = {
    **dict.fromkeys((*INSTANTS, *SPANS), FAR_NS),
    **MOST,
    "priority": 7,
}
OUTCOMES = frozenset(each.value for each in Outcome)
# A file with more of them is no ordinary one, and the journal shall stay small.
MOST_GROUPS = 1000


@dataclass(slots=True)
class Census:
    """Counts the rows of one file, batch by batch."""

    is_sound: bool = True
    rows: dict[tuple[str, int], int] = field(default_factory=dict)
    newest_ns: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""
        if not self.is_sound or not batch.num_rows:
            return
        self.is_sound = is_sound(batch)
        if self.is_sound:
            self.count(batch)
            self.is_sound = len(self.rows) <= MOST_GROUPS

    def count(self, batch: pa.RecordBatch) -> None:
        """Rows by run and slice."""
        names, runs = run_numbers(batch)
        sent_ns = batch.column("t_sent_ns").to_numpy()
        slices = sent_ns // SLICE_NS
        order = np.lexsort((slices, runs)) if np.ptp(runs) or np.ptp(slices) else np.arange(len(runs))
        runs, slices, sent_ns = runs[order], slices[order], sent_ns[order]
        starts = np.flatnonzero(np.r_[True, (np.diff(runs) != 0) | (np.diff(slices) != 0)])
        counts, newest = np.diff(np.r_[starts, len(runs)]), np.maximum.reduceat(sent_ns, starts)
        for start, rows, last in zip(starts.tolist(), counts.tolist(), newest.tolist(), strict=True):
            key = names[int(runs[start])], int(slices[start])
            self.rows[key] = self.rows.get(key, 0) + rows
            self.newest_ns[key] = max(self.newest_ns.get(key, 0), last)

    def groups(self, name: str) -> tuple[Group, ...] | None:
        """What the file of this name has; nothing is said of one that may have bad rows."""
        if not self.is_sound:
            return None
        found = sorted(self.rows.items())
        return tuple(Group(name, *key, None, rows, self.newest_ns[key]) for key, rows in found)


def run_numbers(batch: pa.RecordBatch) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The names of runs, and which of them each row has; one without a name is called nothing."""
    import pyarrow as pa

    runs = batch.column("run")
    runs = runs if pa.types.is_dictionary(runs.type) else runs.dictionary_encode()
    names = [name or "" for name in runs.dictionary.to_pylist()]
    numbers = runs.indices.cast(pa.int64()).fill_null(len(names)).to_numpy(zero_copy_only=False)
    return [*names, ""], numbers


def is_sound(batch: pa.RecordBatch) -> bool:
    """Whether there is certainly no reason against any row."""
    known = dict(zip(batch.schema.names, batch.columns, strict=True))
    if any(name not in known or known[name].null_count for name in NEEDED):
        return False
    if not all(is_within(known[name], most) for name, most in RANGES.items() if name in known):
        return False
    outcomes = set(known["outcome"].unique().to_pylist())
    return outcomes <= OUTCOMES and are_prices(known) and are_near(known) and are_in_order(known)


def is_within(values: pa.Array, most: int) -> bool:
    """Whether all of them are from 0 to `most`."""
    import pyarrow.compute as pc

    found = pc.min_max(values).as_py()
    return found["min"] is None or (found["min"] >= 0 and found["max"] <= most)


def are_prices(known: dict[str, pa.Array]) -> bool:
    """Whether prices and penalties can be added up."""
    import pyarrow.compute as pc

    return all(holds(pc.is_finite(known[name])) for name in ("price", "penalty") if name in known)


def are_near(known: dict[str, pa.Array]) -> bool:
    """Whether no instant is too far from when its message was sent."""
    import pyarrow.compute as pc

    away = (pc.subtract(known[name], known["t_sent_ns"]) for name in INSTANTS[1:])
    return all(is_within(pc.abs(each), LONGEST_NS) for each in away)


def are_in_order(known: dict[str, pa.Array]) -> bool:
    """Whether nothing happened before what it follows."""
    import pyarrow.compute as pc

    sent, ingress, selected, egress, received = (known[name] for name in INSTANTS)
    error = known["clock_error_ns"]
    received = pc.add(received, error)
    follow = [
        (sent, pc.add(pc.add(ingress, error), STANDSTILL_NS)),
        (ingress, selected),
        (ingress, egress),
        (selected, egress),
        (pc.coalesce(egress, ingress), received),
        (sent, received),
    ]
    return all(holds(pc.less_equal(first, second)) for first, second in follow)


def holds(conditions: pa.Array) -> bool:
    """Whether all of them hold, or are not known."""
    import pyarrow.compute as pc

    return pc.all(conditions).as_py() is not False
