"""Bad input: what is wrong with a file or a row is said, and the rest goes on."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.records import frame, plain, seen, table, write

from giusto import record
from giusto.errors import InvalidInput
from giusto.pipeline.tables import bronze, files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

GOOD = seen(100, ingress=110, selected=130, egress=150)
SECOND_NS = 10**9
DAY_NS = 24 * 3600 * SECOND_NS


def trace_folder(folder: Path) -> dict[str, str]:
    """Files of all kinds; what is wrong with each."""
    records = folder / "records"
    said = {"run": "r", "node": "hub", "wall_offset_ns": 5 * SECOND_NS}
    write(records / "a-1.parquet", [GOOD, {**GOOD, "sequence": 1}], sequence=1, **said)
    write(records / "a-2.parquet", [{**GOOD, "sequence": 2}], sequence=2, **said)
    # From another place, where no clock can be so far from the time of day.
    write(records / "c.parquet", [{**GOOD, "sequence": 3}], wall_offset_ns=2**63 - 1)
    old = table([{**GOOD, "sequence": 4}], {files.VERSION_KEY: b"1"}).drop_columns(["subscription"])
    pq.write_table(old, records / "d-old.parquet")
    # A column that only a later giusto knows, which did not think it worth a new version.
    pq.write_table(table([GOOD]).append_column("colour", pa.array(["red"])), records / "d-wide.parquet")

    shutil.copy(records / "a-1.parquet", records / "b-copy.parquet")
    whole = (records / "a-1.parquet").read_bytes()
    (records / "e-cut.parquet").write_bytes(whole[: len(whole) // 2])
    (records / "e-empty.parquet").write_bytes(b"")
    footer = -8 - int.from_bytes(whole[-8:-4], "little")
    (records / "e-mangled.parquet").write_bytes(whole[:footer] + b"\xff" * 100 + whole[footer + 100 :])
    (records / "f-text.parquet").write_text("sequence,topic\n1,alarm\n")
    pq.write_table(pa.table({"x": [1, 2, 3]}), records / "g-foreign.parquet")
    other = table([GOOD]).set_column(6, "sequence", pa.array(["one"]))
    pq.write_table(other, records / "g-types.parquet")
    pq.write_table(table([GOOD] * 4, {files.VERSION_KEY: b"3"}), records / "h-newer.parquet")
    (records / "i-folder.parquet").mkdir()
    # Still being written.
    (records / ".a-3.parquet.tmp").write_bytes(whole[:10])
    return {
        "b-copy": "duplicate file",
        "e-cut": "truncated",
        "e-empty": "truncated",
        "e-mangled": "truncated",
        "f-text": "foreign",
        "g-foreign": "foreign",
        "g-types": "foreign",
        "h-newer": "version",
        "i-folder": "unreadable",
    }


def test_bad_files_are_named_with_a_reason_and_the_others_are_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    expected = trace_folder(tmp_path)
    found = bronze.read(spark, tmp_path)
    assert {file.path.stem: file.reason for file in found.files.bad} == expected
    assert [file.path.stem for file in found.files.good] == ["a-1", "a-2", "c", "d-old", "d-wide"]
    rows = plain(found.rows)
    assert len(rows) == sum(file.rows for file in found.files.good) == 6
    assert Counter((row["sequence"], row["subscription"], row["wall_offset_ns"]) for row in rows) == Counter(
        [
            (0, 1, 5 * SECOND_NS),
            (1, 1, 5 * SECOND_NS),
            (2, 1, 5 * SECOND_NS),
            (3, 1, None),
            (4, None, None),
            (0, 1, None),
        ]
    )
    assert found.quarantine.count() == 0
    by_file = {row["file"]: row for row in plain(bronze.quarantined_files(spark, found.files.bad))}
    assert (by_file["h-newer.parquet"]["rows"], by_file["b-copy.parquet"]["rows"]) == (4, 2)
    assert "version 3, newest known is 2" in by_file["h-newer.parquet"]["detail"]
    assert "column sequence is string, not long" in by_file["g-types.parquet"]["detail"]
    assert "a copy of a-1.parquet" in by_file["b-copy.parquet"]["detail"]


def test_the_columns_that_are_read_are_those_that_are_written() -> None:
    assert list(files.COLUMNS) == record.schema().names
    assert files.column_problem(record.schema()) is None


def test_files_of_nearly_the_same_offset_are_read_together() -> None:
    offsets = [None, 3 * SECOND_NS, 5, SECOND_NS // 100, 3 * SECOND_NS + 1, None]
    given = tuple(files.RecordFile(Path(str(n)), 1, None, offset) for n, offset in enumerate(offsets))
    assert bronze.by_offset(given) == {None: ["0", "5"], 3 * SECOND_NS: ["1", "4"], 0: ["2", "3"]}


BAD: dict[str, list[dict[str, Any]]] = {
    "missing": [{**GOOD, name: None} for name in ("t_sent_ns", "outcome", "sequence")],
    "outcome": [{**GOOD, "outcome": "vanished"}],
    "negative": [{**GOOD, "size_bytes": -1}, {**GOOD, "bound_ns": -5}, {**GOOD, "clock_error_ns": -1}],
    "priority": [{**GOOD, "priority": 8}],
    "price": [{**GOOD, "price": float("nan")}, {**GOOD, "penalty": float("inf")}],
    "range": [
        seen(-1, ingress=5),
        seen(100, ingress=2**63 - 1),
        seen(-(2**63), ingress=2**63 - 1, selected=-(2**63)),
        {**GOOD, "deadline_ns": 2**63 - 1, "clock_error_ns": 2**63 - 1},
        {**GOOD, "size_bytes": 2**63 - 1},
        {**GOOD, "size_bytes": 2**45},
        {**GOOD, "hop": 2**31 - 1},
    ],
    "clock jump": [
        seen(100, ingress=110 + DAY_NS),
        seen(2 * DAY_NS, ingress=110),
        seen(100, ingress=110, selected=130, egress=150, received=151 + DAY_NS),
    ],
    "order": [
        seen(2 * SECOND_NS, ingress=SECOND_NS - 1),
        seen(100, ingress=110, selected=109),
        seen(100, ingress=110, selected=130, egress=129),
        seen(100, ingress=110, selected=130, egress=150, received=149),
        seen(100, ingress=110, selected=130, egress=150, received=139, clock_error_ns=10),
    ],
}
FINE = [
    GOOD,
    seen(100, ingress=100, selected=100, egress=100, received=100),
    seen(100, ingress=91, selected=130, egress=150, received=141, clock_error_ns=10),
    # Sent while the broker was in a turn for which it had looked at the clock before.
    seen(SECOND_NS, ingress=SECOND_NS - 20_000, selected=SECOND_NS - 20_000, egress=SECOND_NS + 5),
    seen(0, ingress=0, outcome="policed", subscriber=None, subscription=None),
    {**GOOD, "run": None, "node": None, "topic": None, "publisher": None},
    # The wire's number has 64 bits without a sign, and is kept bit for bit.
    {**GOOD, "sequence": -1},
]


def test_rows_that_cannot_have_happened_are_put_aside_with_a_reason(spark: SparkSession) -> None:
    rows = [row for reason in BAD.values() for row in reason] + FINE
    found = bronze.sifted(frame(spark, rows))
    assert Counter(row["reason"] for row in plain(found.quarantine)) == {
        reason: len(of_it) for reason, of_it in BAD.items()
    }
    assert found.rows.count() == len(FINE)


def test_no_good_file_is_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    found = bronze.read(spark, tmp_path)
    assert (found.rows.count(), found.quarantine.count(), len(found.files.bad)) == (0, 0, 1)


def test_records_that_are_nowhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"records = .*: expected a folder or a Parquet file"):
        files.record_files(tmp_path / "nothing")


def test_facts_are_one_row_for_each_topic_and_client(spark: SparkSession, tmp_path: Path) -> None:
    assert bronze.facts(spark, tmp_path) is None
    (tmp_path / "facts").mkdir()
    offer = {"min_sep_ns": 100, "burst": 4, "jitter_ns": 7}
    clients = [{"client": "p", "share": 0.25, "flow_share": 0.125, **offer}, {"client": "q", "share": None}]
    topics: list[dict[str, Any]] = [
        {
            "topic": "a",
            "weight": 2,
            "share": 0.5,
            "quanta_share": 0.75,
            "guarded": True,
            "bound_ns": 9,
            "clients": clients,
        },
        {"topic": "b", "weight": 1},
    ]
    head = {"run": "r", "node": "hub", "at_ns": 7, "wall_offset_ns": 5, "input": "twrr", "output": "mtep"}
    (tmp_path / "facts" / "hub-r-1.json").write_text(
        json.dumps({**head, "fragment_bytes": 9, "tolerance_ns": 20, "topics": topics})
    )
    (tmp_path / "facts" / "hub-r-2.json").write_text("{")
    # What is of no use, or has a value that is, is left out.
    for n, wrong in enumerate([{"at_ns": "soon"}, {"at_ns": 2**70}, {"topics": [{"weight": "much"}]}]):
        (tmp_path / "facts" / f"hub-r-{n + 3}.json").write_text(json.dumps({**head, **wrong}))
    strange = {"run": 7, "wall_offset_ns": 2**63 - 1, "topics": [{"topic": ["c"]}], "at_ns": 9}
    (tmp_path / "facts" / "hub-r-9.json").write_text(json.dumps({**head, **strange}))
    found = bronze.facts(spark, tmp_path)
    assert found is not None
    rows = [row for row in plain(found) if row["at_ns"] == 7]
    (odd,) = plain(found.filter("at_ns <> 7"))
    assert [odd[name] for name in ("at_ns", "run", "wall_offset_ns", "topic")] == [9, None, None, None]
    assert [(row["topic"], row["client"], row["client_share"]) for row in rows] == [
        ("a", "p", 0.25),
        ("a", "q", None),
        ("b", None, None),
    ]
    said = ("output", "weight", "cells_share", "quanta_share", "guarded")
    assert {tuple(row[name] for name in said) for row in rows} == {
        ("mtep", 2.0, 0.5, 0.75, True),
        ("mtep", 1.0, None, None, None),
    }
    # Three more than one may come a separation early, and each by jitter and tolerance.
    assert [(row["min_sep_ns"], row["allowed_ns"]) for row in rows] == [
        (100, 327),
        (None, None),
        (None, None),
    ]
    assert [(row["topic"], row["bound_ns"]) for row in rows] == [("a", 9), ("a", 9), ("b", None)]
    assert {(row["client"], row["flow_share"], row["fragment_bytes"]) for row in rows} == {
        ("p", 0.125, 9),
        ("q", None, 9),
        (None, None, 9),
    }
