"""The source's decisions that need no Spark: options, ranges, rows in and out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto import _core
from giusto.errors import FilterSyntax, InvalidInput, NotRetained, TooLarge
from giusto.pipeline.source import files, outgoing, ranges, rows
from giusto.pipeline.source.options import READING, parsed, require_names
from giusto.pipeline.source.outgoing import Layout
from giusto.retain import columns
from giusto.retain.requests import LogIs

LOG = LogIs("id", "ward/#", 10, 100)


def test_options_are_checked_and_named() -> None:
    found = parsed({"URL": "giusto://h:1", "Topic": "a/+", "filter": "x<3", "startingPosition": "7"})
    assert (found.url, found.pattern, found.filter, found.start) == ("giusto://h:1", "a/+", "x < 3", 7)
    wrong = {
        "topic": ("a/#/b", "option topic"),
        "startingPosition": (
            "first",
            "option startingPosition = first: expected earliest, latest or a position",
        ),
        "maxRowsPerTrigger": ("0", "option maxRowsPerTrigger = 0: expected a whole number, at least 1"),
        "partitions": ("-1", "option partitions"),
        "volatile": ("maybe", "option volatile = maybe: expected true or false"),
        "timeout": ("soon", "option timeout"),
    }
    for name, (value, said) in wrong.items():
        with pytest.raises(InvalidInput, match=said):
            parsed({"topic": "a", name: value})
    with pytest.raises(FilterSyntax):
        parsed({"filter": "x <"})
    with pytest.raises(InvalidInput, match="option topic is missing"):
        _ = parsed({}).pattern


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "startPosition",
            r"option = startPosition: expected .* \(did you mean startingPosition\?\): url, topic",
        ),
        ("topics", r"did you mean topic\?"),
        ("endingposition", r"did you mean startingPosition\?"),
        (
            "kafka.bootstrap.servers",
            r"option = kafka.bootstrap.servers: expected an option of the source: url",
        ),
        ("query", r"option = query: expected an option of the source: "),
        ("path", r'name them with .option\("topic", "ward/#"\)'),
    ],
)
def test_an_option_that_nobody_would_look_at_is_refused(name: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        require_names({"url": "x", name: "1"}, READING, "the source")


@given(
    st.lists(st.sampled_from([*READING, "queryName", "owner", "provider", "option.anything"]), unique=True)
)
def test_all_options_are_known_in_any_case(names: list[str]) -> None:
    require_names([name.lower() for name in names], READING, "the source")


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.none() | st.integers(1, 50))
def test_the_parts_of_a_range_are_the_range(start: int, rows: int, partitions: int | None) -> None:
    parts = ranges.split(start, start + rows, partitions)
    assert all(first < last for first, last in parts)
    covered = [start, *(last for _, last in parts)]
    assert [first for first, _ in parts] == covered[:-1]
    assert covered[-1] == start + rows
    assert len(parts) <= (partitions or ranges.PARTITIONS)


def test_a_query_begins_where_it_was_told_to() -> None:
    def first(start: str) -> int:
        return ranges.first_of(parsed({"topic": "ward/1", "startingPosition": start}), LOG)

    assert [first(start) for start in ("earliest", "latest", "50")] == [10, 100, 50]
    with pytest.raises(InvalidInput, match="startingPosition = 3: expected a position from 10 to 100"):
        first("3")


def offset(position: int, **more: Any) -> dict[str, Any]:
    return {"log": "id", "topic": "ward/1", "query": "q", "position": position} | more


def test_a_batch_ends_at_the_head_the_limit_or_the_target() -> None:
    def end(position: int, most: int | None = None, target: int | None = None) -> int:
        return int(ranges.reached(offset(position), LOG, most, target)["position"])

    assert (end(20), end(20, most=5), end(20, target=30), end(20, most=50, target=30)) == (100, 25, 30, 30)
    assert (end(100), end(40, target=30)) == (100, 40)
    assert end(5, most=5) == 15, "what is gone does not count"
    with pytest.raises(NotRetained, match="read up to 101, and the log ends before 100"):
        end(101)


@pytest.mark.parametrize(
    "found", [offset(1, topic="ward/2"), {"position": 3}, {"volatile": "x", "topic": "ward/1"}]
)
def test_the_checkpoint_of_another_query_is_refused(found: dict[str, Any]) -> None:
    options = parsed({"topic": "ward/1"})
    ranges.require_ours(offset(1), options)
    with pytest.raises(InvalidInput, match=r"checkpoint = of a query on .*choose a new checkpointLocation"):
        ranges.require_ours(found, options)


VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text("aü€ ", max_size=5),
    st.frozensets(st.integers(0, 9)),
)


@given(
    st.lists(
        st.dictionaries(st.text("abc", min_size=1, max_size=3), VALUES, max_size=3), min_size=1, max_size=9
    )
)
def test_attributes_become_texts_by_name(several: list[dict[str, Any]]) -> None:
    blocks = pa.chunked_array([pa.array([columns.attributes_block(one) for one in several], pa.binary())])
    found = rows.texts(blocks)
    assert found.type == rows.attributes_type()
    assert [dict(one) for one in found.to_pylist()] == [
        {name: rows.text(value) for name, value in one.items()} for one in several
    ]


def test_a_text_says_what_the_value_was() -> None:
    instant = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert rows.text(frozenset({"b", "a"})) == '["a", "b"]'
    assert rows.text(instant) == "2026-01-02T03:04:05+00:00"
    assert [rows.text(value) for value in (7, 1.5, _core.Float(0.5), "x")] == ["7", "1.5", "0.5", "x"]


def test_small_tables_are_put_together() -> None:
    tables = [pa.table({"x": list(range(3_000))}) for _ in range(8)]
    assert [table.num_rows for table in rows.gathered(tables)] == [12_000, 12_000]
    assert [table.num_rows for table in rows.gathered(tables[:1])] == [3_000]
    assert list(rows.gathered([])) == []


LAYOUT = Layout(None, ("topic", "payload", "attributes", "priority"))


def out(**columns_of: list[Any]) -> pa.RecordBatch:
    given = {"topic": ["a"], "payload": [b"x"], "attributes": [{"n": 1}], "priority": [0]} | columns_of
    return outgoing.converted(pa.RecordBatch.from_pydict(given), LAYOUT)


def test_rows_become_what_is_published() -> None:
    row = out(priority=[3], attributes=[{"n": 1, "s": "x", "none": None}]).to_pylist()[0]
    assert (row["topic"], row["payload"], row["priority"]) == ("a", b"x", 3)
    assert _core.decode_attributes(row["attributes"]) == {"n": 1, "s": "x"}
    plain = outgoing.converted(pa.RecordBatch.from_pydict({"payload": ["ü"]}), Layout("t", ("payload",)))
    assert plain.to_pylist() == [{"topic": "t", "payload": "ü".encode(), "priority": 0, "attributes": b""}]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"topic": [None]}, "column topic = null"),
        ({"topic": ["a/#"]}, "column topic"),
        ({"payload": [None]}, "column payload = null"),
        ({"priority": [8]}, "column priority = 8 to 8: expected 0 .lowest. to 7"),
        ({"payload": [bytes(2**20)]}, "column payload, with attributes"),
    ],
)
def test_what_cannot_be_published_is_refused_by_column(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((InvalidInput, TooLarge), match=said):
        out(**wrong)


@given(st.lists(st.integers(0, 300_000), max_size=8))
def test_parts_are_small_and_together_they_are_everything(sizes: list[int]) -> None:
    batch = pa.RecordBatch.from_pydict({"payload": pa.array([bytes(size) for size in sizes], pa.binary())})
    found = list(outgoing.parts(iter([batch]), Layout("t", ("payload",))))
    read = [row for _, body in found for row in columns.decode(body).column("payload").to_pylist()]
    assert [len(payload) for payload in read] == sizes
    assert sum(count for count, _ in found) == len(sizes)
    assert all(len(body) < 900_000 for _, body in found)


FILES = st.dictionaries(st.sampled_from(["a-1f", "b-2e", "b-3"]), st.sets(st.integers(1, 30), max_size=12))


@given(FILES, FILES, st.integers(1, 5))
def test_every_file_of_records_is_in_one_batch(
    before: dict[str, set[int]], later: dict[str, set[int]], most: int
) -> None:
    def there(*several: dict[str, set[int]]) -> dict[str, dict[int, str]]:
        names = [f"{writer}-{n:08d}.parquet" for one in several for writer in one for n in one[writer]]
        return files.by_writer([*names, "foreign.txt"])

    # Files of a writer appear in the order of their numbers.
    after = {writer: {number + 30 for number in later[writer]} for writer in later}
    read: list[str] = []
    offset: dict[str, int] = {}
    for found in (there(before), there(before, after)):
        while (end := files.reached(offset, found, most)) != offset:
            new = [
                found[writer][number]
                for writer, first, last in files.between(offset, end)
                for number in found[writer]
                if first < number <= last
            ]
            assert 0 < len(new) <= most
            read += new
            offset = end
    everything = [name for several in there(before, after).values() for name in several.values()]
    assert sorted(read) == sorted(everything)
