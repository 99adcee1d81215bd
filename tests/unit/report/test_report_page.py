"""The report as a file: complete, kept to itself, the same every time, and honest about what is missing."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from made_up import Rows, tables, verdict, write_folder

from giusto.errors import InvalidInput
from giusto.report import write
from giusto.report.page import SECTIONS

SAID = (
    "✓ Held. No delivery was later than promised; 36,000 deliveries under 3 contracts, 0 violations; "
    "largest observed/bound 31.1 %, observed/promise 24.8 %."
)
NASTY = """<script>alert("1")</script>&'\x00"""


def made(folder: Path, rows: dict[str, Rows] | None = None, says: dict[str, Any] | None = None) -> str:
    return write(write_folder(folder, rows or tables(), says)).read_text("utf-8")


def plain(page: str) -> str:
    """What a person reads."""
    body = page.partition("<body>")[2].partition("<script>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_the_page_opens_with_the_verdict_and_has_every_section(tmp_path: Path) -> None:
    page = made(tmp_path / "tables")
    text = plain(page)
    assert SAID in text
    assert "· tables of 2026-01-01 00:00:12 UTC" in text
    for section in SECTIONS:
        assert f'<section id="{section.anchor}"><h2>{section.title}</h2>' in page
        assert f'href="#{section.anchor}"' in page
    assert "1 file left out: truncated (they end too early)" in text
    assert "3 records left out: received before sent" in text
    assert "bound 16 ms" in text
    assert "promise 20 ms" in text
    assert "180 at 500/s 900 at 100/s 450 at 200/s 90 at 1,000/s 45 at 2,000/s" in text
    assert "48,211 policed: came to the broker sooner than the publisher&#x27;s offer" in text


def test_a_run_that_broke_a_bound_says_so_and_lists_where_the_time_went(tmp_path: Path) -> None:
    text = plain(made(tmp_path / "tables", tables(violations=230)))
    assert "✗ Violated. 230 deliveries were later than promised; 36,000 deliveries under" in text
    assert "The 200 that were over by most are shown; there are 30 more." in text
    assert "monitor → station #1 · message 329 229 s 250 ms 20 ms 230 ms" in text
    assert text.count("waiting 70.0 %") == 200


def test_nothing_is_loaded_from_anywhere(tmp_path: Path) -> None:
    page = made(tmp_path / "tables")
    assert not re.search(r"""(src|href|action)\s*=\s*["']?(?!["']?#)""", page)
    assert not re.search(
        r"https?:|//[a-z]|@import|url\(", page.partition("<body>")[0] + page.partition("<body>")[2]
    )
    assert "default-src 'none'" in page.replace("&#x27;", "'")


def test_a_name_never_becomes_markup(tmp_path: Path) -> None:
    rows = tables(3, violations=2)
    for row in (row for table in rows.values() for row in table):
        for column, value in row.items():
            if isinstance(value, str):
                row[column] = NASTY
    page = made(tmp_path / "tables", rows, {**verdict(rows), "runs": [NASTY], "quarantined": {NASTY: 3}})
    assert page.count("<script>") == 1
    assert page.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#x27;\ufffd") > 20
    assert "\x00" not in page


def test_the_same_tables_give_the_same_bytes_in_whatever_order_their_rows_are(tmp_path: Path) -> None:
    rows = tables(5, violations=3)
    turned = {name: list(reversed(table)) for name, table in rows.items()}
    assert made(tmp_path / "a", rows) == made(tmp_path / "b", turned)


def test_a_thousand_topics_make_less_than_a_megabyte_and_the_page_says_what_it_shows(tmp_path: Path) -> None:
    few = tables(4)
    many = {
        name: [{**row, "topic": f"{row.get('topic')}/{number}"} for row in table for number in range(250)]
        for name, table in few.items()
    }
    page = made(tmp_path / "tables", many)
    assert len(page.encode()) < 1_000_000
    text = plain(page)
    assert "The 12 worst of 1,000 are shown" in text
    assert "The 60 nearest to their bounds of 750 contracts are shown." in text


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.table)
def test_a_table_that_is_missing_is_missed_and_the_rest_is_there(tmp_path: Path, section: Any) -> None:
    folder = write_folder(tmp_path / "tables", tables(2))
    shutil.rmtree(folder / section.table)
    text = plain(write(folder).read_text("utf-8"))
    assert f"Not in this folder: {section.table}." in text
    assert (f"There is no table {section.table} in this folder." in text) is not section.optional
    assert ("2,400 deliveries under 3 contracts" in text) is (section.table != "contract_audit")
    assert "3,200 deliveries" in text


def test_a_table_without_a_column_or_that_is_no_parquet_file_is_said(tmp_path: Path) -> None:
    rows = tables(2)
    for row in rows["earnings"]:
        del row["success_rate"]
    folder = write_folder(tmp_path / "tables", rows)
    (folder / "losses" / "part-00000.parquet").write_bytes(b"PAR1 and no more")
    text = plain(write(folder).read_text("utf-8"))
    assert "The table earnings has no column success_rate." in text
    assert "The table losses cannot be read:" in text
    assert "Not in this folder: losses and earnings." in text


def test_a_table_without_files_has_no_rows(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tables", tables(1))
    for path in folder.glob("*/*.parquet"):
        path.unlink()
    text = plain(write(folder).read_text("utf-8"))
    assert "Nothing was delivered." in text
    assert "Not in this folder" not in text


def test_tables_without_rows_are_said_in_words(tmp_path: Path) -> None:
    nothing = {name: [] for name in tables(1)}
    page = made(tmp_path / "tables", nothing, {**verdict(nothing), "deliveries": 0})
    text = plain(page)
    assert "No promises. Nothing was promised for any delivery; 0 deliveries arrived" in text
    assert text.count("Nothing was") >= 3
    assert "<h2>Links</h2>" not in page
    assert "No delivery was later than promised." in text


def test_the_folder_of_the_records_does_as_well(tmp_path: Path) -> None:
    write_folder(tmp_path / "traces" / "tables", tables(1))
    assert write(tmp_path / "traces") == tmp_path / "traces" / "tables" / "report.html"
    assert write(tmp_path / "traces", tmp_path / "r.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "a folder with verdict.json"),
        ("{", "JSON, as"),
        ("[]", "a JSON object"),
        (json.dumps({"deliveries": "many"}), "a whole number"),
        (json.dumps({"losses": {"lost": "x"}}), "whole numbers by reason"),
        (json.dumps({"largest_ratio": "x"}), "a number"),
    ],
)
def test_a_folder_that_no_pipeline_wrote_is_refused(
    tmp_path: Path, content: str | None, expected: str
) -> None:
    if content is not None:
        (tmp_path / "verdict.json").write_text(content, "utf-8")
    with pytest.raises(InvalidInput, match=expected):
        write(tmp_path)
    assert not list(tmp_path.glob("*report*"))
