"""What a row comes to that is all there is of its delivery: as `assembly.of_one` and `silver.told` say.

This is the same in Arrow. Most rows are such rows, and to read and write them is most of the work of a
pipeline: column by column it takes a quarter of what it takes row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from giusto.pipeline.tables.assembly import SAID
from giusto.pipeline.tables.columns import (
    KINDS,
    NAMES,
    Columns,
    is_known,
    is_named,
    is_seen_by_subscriber,
    numbers_of,
)
from giusto.pipeline.tables.files import COLUMNS
from giusto.pipeline.tables.repeated import KEY
from giusto.pipeline.tables.silver import ORDER

SCHEMA = pa.schema(
    [(name, KINDS[COLUMNS.get(name, "integer" if name == "hops" else "long")]) for name in ORDER]
)
LATE = "late"
CAME = ("delivered", LATE)


def is_copied(columns: Columns) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """As `silver.is_copy`."""
    return ~is_known(columns["subscriber"]) & is_named(columns["outcome"], CAME[0])


def has_come(columns: Columns) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether somebody got it."""
    return is_named(columns["outcome"], CAME[0]) | is_named(columns["outcome"], CAME[1])


def deliveries_of(columns: Columns, wall_offset_ns: int | None) -> pa.Table:
    """Rows as deliveries."""
    by_subscriber = pa.array(is_seen_by_subscriber(columns))
    found = {name: columns[name] for name in (*KEY, *SAID) if name in columns}
    found |= {name: columns[name] for name in ("t_selected_ns", "t_egress_ns", "t_received_ns")}
    found |= {name: unless(by_subscriber, columns[name]) for name in ("node", "t_ingress_ns")}
    found["hops"] = pc.add(columns["hop"], pc.cast(pc.invert(by_subscriber), pa.int32()))
    found["clock_error_ns"] = columns["clock_error_ns"]
    found["queue_ns"] = pc.subtract(columns["t_selected_ns"], columns["t_ingress_ns"])
    found["egress_ns"] = pc.subtract(columns["t_egress_ns"], columns["t_selected_ns"])
    found["records"] = pa.array(np.ones(len(by_subscriber), np.int64))
    return told({**found, "outcome": columns["outcome"]}, wall_offset_ns)


def told(found: Columns, wall_offset_ns: int | None) -> pa.Table:
    """Deliveries with how long they took, and where the time went."""
    sent, egress, error = found["t_sent_ns"], found["t_egress_ns"], found["clock_error_ns"]
    last_seen = pc.coalesce(found["t_received_ns"], egress)
    latency = unless(pa.array(~has_come(found)), pc.subtract(last_seen, sent))
    before = pc.subtract(pc.coalesce(egress, found["t_selected_ns"], found["t_ingress_ns"]), sent)
    inside = pc.add(pc.fill_null(found["queue_ns"], 0), pc.fill_null(found["egress_ns"], 0))
    is_late = pc.fill_null(pc.greater(latency, found["deadline_ns"]), False)
    more = {
        "outcome": renamed(found["outcome"], is_late.to_numpy(zero_copy_only=False)),
        "latency_ns": latency,
        "latency_low_ns": pc.subtract(latency, error),
        "latency_high_ns": pc.add(latency, error),
        "inside_ns": pc.subtract(egress, found["t_ingress_ns"]),
        "network_in_ns": pc.subtract(before, inside),
        "network_out_ns": pc.subtract(found["t_received_ns"], egress),
        "wall_ns": pc.add(sent, pa.scalar(wall_offset_ns, pa.int64())),
    }
    found |= more
    return pa.Table.from_arrays([found[name] for name in SCHEMA.names], schema=SCHEMA)


def unless(condition: pa.Array, values: Any) -> pa.Array:
    """Values where it is not so; nothing elsewhere."""
    if pa.types.is_dictionary(values.type):
        numbers = unless(condition, values.indices)
        return pa.DictionaryArray.from_arrays(numbers, values.dictionary)
    return pc.if_else(condition, pa.scalar(None, values.type), values)


def renamed(outcomes: pa.Array, is_late: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Array:
    """Outcomes, of which some are `late`."""
    names = outcomes.dictionary.to_pylist()
    if LATE not in names:
        names.append(LATE)
    numbers = np.where(is_late, names.index(LATE), numbers_of(outcomes)).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(names, NAMES.value_type))
