"""The page on the pipeline's speed says what was reached, what was not, and what was not measured."""

from __future__ import annotations

import pytest

pytest.importorskip("duckdb", reason="extra `oracles` is not installed")
pytest.importorskip("polars", reason="extra `oracles` is not installed")
pytest.importorskip("pyspark", reason="extra `spark` is not installed")

from benchmarks.pipeline.measures import DUCKDB, ENDS, GOLD, SPARK, Took
from benchmarks.pipeline.page import Figures, aims, page
from benchmarks.pipeline.whole import Whole

MILLION = 1_000_000


@pytest.fixture
def figures() -> Figures:
    """Spark takes 4 s or 6 s where DuckDB takes 1 s; one table is too slow for DuckDB at the larger size."""
    took = []
    for rows in (MILLION, 20 * MILLION):
        for table in ("deliveries", *GOLD):
            took.append(Took(SPARK, table, rows, 6.0 if table == "losses" else 4.0))
            if table != "arrival_envelope" or rows == MILLION:
                took.append(Took(DUCKDB, table, rows, 1.0))
    spent_s = {
        "grouping": 10.0,
        "settling": 60.0,
        "settling losses": 70.0,
        "presenting": 20.0,
        "letting in": 9,
    }
    stream = Whole("stream", 10 * MILLION, 100.0, 90.0, 7, 3_000_000, 150.0, spent_s)
    behind = (3 * MILLION, MILLION)
    paced = Whole("stream, 300,000 come in a second", 30 * MILLION, 100.0, 99.0, behind_rows=behind)
    wholes = [Whole("batch", 20 * MILLION, 100.0), stream, paced]
    ends = [Took(SPARK, ENDS, 5 * MILLION, 5.0), Took(DUCKDB, ENDS, 5 * MILLION, 2.0)]
    return Figures(took, wholes, [0.01, 0.02, 0.03], ends=ends)


def test_aims_are_reached_by_ratios_at_the_largest_size_that_both_were_measured_at(figures: Figures) -> None:
    rows = {row[0]: row[1:] for row in aims(figures)}
    at = "time against DuckDB at"
    assert rows[f"deliveries: {at} 20 million records"] == ["≤ 5", "4", "yes"]
    assert rows[f"losses: {at} 20 million records"] == ["≤ 5", "6", "**no**"]
    assert rows[f"arrival_envelope: {at} 1 million records"] == ["≤ 5", "4", "yes"]
    assert rows["stream with every table, records/s"] == ["≥ 200,000", "100,000", "**no**"]
    title = "stream, 300,000 come in a second: behind in the second half of the time against the first"
    assert rows[title] == ["≤ 1", "0.333", "yes"]


def test_an_aim_that_was_not_measured_is_said_to_be_so() -> None:
    rows = aims(Figures([Took(SPARK, "losses", MILLION, 1.0)], [], [0.01]))
    assert {row[-1] for row in rows if not row[0].startswith("arrival_envelope: time for")} == {
        "not measured"
    }


def test_time_for_a_record_is_compared_between_sizes(figures: Figures) -> None:
    assert figures.growth("losses") == pytest.approx(1 / 20)


def test_the_page_has_every_table_and_no_figure_where_there_is_none(figures: Figures) -> None:
    text = page(figures, "a machine", "2026-01-01")
    assert "on a machine" in text
    for table in GOLD:
        assert f"| {table} |" in text
    assert "| arrival_envelope | 4 |  |  | 5 |  |  |" in text
    assert "| stream | 10,000,000 | 100 | 100,000 | 15 | 90 | 7 | 3 |  |  |" in text
    assert "| 30,000,000 | 100 | 300,000 |  | 99 | 0 | 0 | 3,000,000 | 1,000,000 |" in text
    assert "| settling | 60 | 60 % |\n| settling losses | 70 | 70 % |\n| presenting | 20 | 20 % |" in text
    assert "| between stages | 10 | 10 % |" in text
    assert "letting in" not in text
    assert f"| {ENDS} | 5 | 2 |  | 1 | 2.5 |  |" in text
