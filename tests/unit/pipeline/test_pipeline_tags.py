"""Rows of one delivery have one hash, however their names are kept; others have others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from giusto.pipeline.tables.columns import KINDS, columns_of
from giusto.pipeline.tables.files import COLUMNS
from giusto.pipeline.tables.repeated import BROKER, KEY, KIND_BITS, NUMBERED, UNNUMBERED
from giusto.pipeline.tables.tags import has_one_of, tags_of

LARGEST = 2**62
names = st.one_of(st.none(), st.sampled_from(["", "a", "b", "ä/+", "aa"]))
whole = st.integers(0, LARGEST)
times = st.one_of(st.none(), st.integers(0, 3))
rows = st.fixed_dictionaries(
    {
        **dict.fromkeys(("run", "topic", "publisher", "subscriber", "node"), names),
        "sequence": st.one_of(st.integers(0, 3), whole),
        "t_sent_ns": st.one_of(st.integers(0, 3), whole),
        "subscription": st.one_of(st.none(), st.integers(0, 3), whole),
        **dict.fromkeys(("t_selected_ns", "t_egress_ns", "t_received_ns"), times),
    }
)


def tagged(some: list[dict[str, Any]], *, as_texts: bool = False) -> list[int]:
    """Their tags, in one batch; names once each, or as texts."""
    arrays = {}
    for name in rows_names():
        kind = KINDS[COLUMNS[name]]
        texts = pa.array([row[name] for row in some], kind.value_type if COLUMNS[name] == "string" else kind)
        is_name = COLUMNS[name] == "string" and not as_texts
        arrays[name] = texts.dictionary_encode() if is_name else texts
    found: list[int] = tags_of(columns_of(pa.RecordBatch.from_pydict(arrays), rows_names())).tolist()
    return found


def rows_names() -> tuple[str, ...]:
    return (*KEY, "node", "t_selected_ns", "t_egress_ns", "t_received_ns")


def delivery(row: dict[str, Any]) -> tuple[Any, ...]:
    """What rows of one delivery have in common."""
    return (*(row[name] for name in KEY), row["node"] if row["subscriber"] is None else None)


def kind(row: dict[str, Any]) -> int:
    is_broker = row["t_selected_ns"] is not None or row["t_egress_ns"] is not None
    if row["subscriber"] is None or row["t_received_ns"] is None or is_broker:
        return BROKER
    return UNNUMBERED if row["subscription"] is None else NUMBERED


@given(st.lists(rows, min_size=1))
def test_a_tag_says_which_delivery_a_row_is_of_and_what_it_is(some: list[dict[str, Any]]) -> None:
    tags = tagged(some)
    assert [tag & 3 for tag in tags] == [kind(row) for row in some]
    hashes = [tag >> KIND_BITS for tag in tags]
    assert len(set(hashes)) == len({delivery(row) for row in some})
    assert len(set(zip(hashes, map(delivery, some), strict=True))) == len(set(hashes))


@given(st.lists(rows, min_size=1), st.randoms())
def test_a_tag_does_not_depend_on_the_rows_around_it(some: list[dict[str, Any]], rng: Any) -> None:
    tags = tagged(some)
    assert tags == tagged(some, as_texts=True)
    order = rng.sample(range(len(some)), len(some))
    assert tagged([some[n] for n in order]) == [tags[n] for n in order]
    assert [tag for row in some for tag in tagged([row])] == tags


def test_tags_of_numbers_in_a_row_are_all_different() -> None:
    row = {**dict.fromkeys(rows_names()), "run": "r", "topic": "t", "subscriber": "s", "node": "n"}
    some = [
        {**row, "sequence": n, "t_sent_ns": 1000 * n + 7 * late, "subscription": subscription}
        for n in range(300)
        for late in range(30)
        for subscription in range(3)
    ]
    assert len(set(tagged(some))) == len(some)


@given(st.lists(whole), st.sets(st.integers(-(2**61), 2**61 - 1)))
def test_a_hash_is_found_among_some_if_it_is_one_of_them(others: list[int], some: set[int]) -> None:
    hashes = np.array(sorted(some), np.int64)
    tags = np.array([*others, *((each << KIND_BITS) + 1 for each in some)], np.int64)
    assert has_one_of(tags, hashes).tolist() == np.isin(tags >> KIND_BITS, hashes).tolist()
