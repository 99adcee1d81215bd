"""Files of records are Parquet that others read back as it was."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from parquet_files import file_of, plain

from giusto import _core
from giusto.record import Outcome, to_table

NAMES = {"run": 1, "node": 1, "topic": 5, "publisher": 3, "subscriber": 9}
OPTIONAL = (
    "t_intended_ns",
    "t_selected_ns",
    "t_egress_ns",
    "t_received_ns",
    "min_sep_ns",
    "deadline_ns",
    "bound_ns",
)
INT64 = st.integers(-(2**63), 2**63 - 1)
INSTANTS = st.one_of(st.integers(0, 10**6), INT64)
MAYBE = st.one_of(st.none(), INSTANTS)
AMOUNT = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))

RECORD = st.fixed_dictionaries(
    {
        **{name: st.integers(0, count) for name, count in NAMES.items() if name != "subscriber"},
        "subscriber": st.one_of(st.none(), st.integers(0, 9)),
        "subscription": st.one_of(st.none(), st.integers(0, 2**32 - 1)),
        "hop": st.integers(0, 2),
        "sequence": st.integers(0, 2**64 - 1),
        "size_bytes": st.integers(0, 2**32 - 1),
        "priority": st.integers(0, 7),
        "t_sent_ns": INSTANTS,
        "t_ingress_ns": INSTANTS,
        **dict.fromkeys(OPTIONAL, MAYBE),
        "price": AMOUNT,
        "penalty": AMOUNT,
        "outcome": st.sampled_from(list(map(str, Outcome))),
    }
)
RUN = st.builds(lambda one, times: [one] * times, RECORD, st.integers(1, 40))
BATCH = st.lists(RUN, min_size=1, max_size=12).map(lambda runs: [one for run in runs for one in run])


def batch_of(records: list[dict[str, Any]]) -> _core.Batch:
    """The records as they are drained; the highest number of each kind has no name."""
    columns = _core.Columns(len(records))
    for name, count in NAMES.items():
        for number in range(count):
            columns.set_name(name, number, f"{name} {number} è")
    for one in records:
        assert columns.push(**one)
    return columns.drain()


@given(st.lists(st.lists(BATCH, min_size=1, max_size=3), min_size=1, max_size=3))
def test_what_is_encoded_is_read_back_as_it_was(groups: list[list[list[dict[str, Any]]]]) -> None:
    batches = [[batch_of(records) for records in group] for group in groups]
    read = pq.read_table(file_of(batches))
    assert read.schema.metadata == {b"said": b"so"}
    assert plain(read) == plain(to_table(batch for group in batches for batch in group)).combine_chunks()


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 300)), min_size=1, max_size=5))
def test_runs_of_any_length_are_read_back_as_they_were(runs: list[tuple[int, int]]) -> None:
    record = dict.fromkeys(("run", "node", "publisher", "sequence", "t_sent_ns", "t_ingress_ns"), 0)
    records = [
        {**record, "topic": kind, "size_bytes": kind, "price": float(kind), "outcome": "late"}
        for kind, length in runs
        for _ in range(length)
    ]
    batch = batch_of(records)
    assert plain(pq.read_table(file_of([[batch]]))) == plain(to_table([batch]))


def test_statistics_let_readers_skip_groups() -> None:
    record = dict.fromkeys(("run", "node", "topic", "publisher", "sequence", "size_bytes"), 0)
    batches = [
        [batch_of([{**record, "t_sent_ns": at, "t_ingress_ns": at + 5, "outcome": "late"}])] for at in (7, 3)
    ]
    metadata = pq.read_metadata(file_of(batches))
    index = metadata.schema.names.index("t_ingress_ns")
    spans = [metadata.row_group(group).column(index).statistics for group in range(2)]
    assert [(span.min, span.max) for span in spans] == [(12, 12), (8, 8)]
