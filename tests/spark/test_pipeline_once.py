"""A batch: records of all kinds in, tables and a verdict out, and the same again."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from records import seen, write
from tests.unit.report import made_up
from traced import trace
from typer.testing import CliRunner

from giusto import pipeline, report
from giusto.cli.app import app
from giusto.cli.pipeline.quarantine import left_out
from giusto.errors import SparkFailed
from giusto.pipeline import linking, once
from giusto.pipeline.progress import LOOKING, STARTING, Progress
from giusto.pipeline.result import Result, result
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.table import Table
from giusto.report.page import SECTIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MS = 1_000_000


def rows(out: Path, name: str) -> list[str]:
    """The rows of a table, in an order of their own."""
    return sorted(map(repr, pq.read_table(out / name).to_pylist()))


def everything(out: Path) -> dict[str, list[str]]:
    """All tables."""
    return {name: rows(out, name) for name in ("deliveries", *(table.name for table in TABLES))}


def lasting(kept: dict[str, Any]) -> dict[str, Any]:
    """A verdict without what the time of day has to do with."""
    return {name: value for name, value in kept.items() if name not in ("started", "seconds")}


@dataclass(frozen=True)
class Batch:
    """What was made of `trace`, and the stages of it that were seen."""

    folder: Path
    done: Result
    looks: list[str]


@pytest.fixture(scope="module")
def batch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    folder = trace(tmp_path_factory.mktemp("batch") / "trace")
    looks: list[str] = []
    return Batch(folder, pipeline.run(folder, watch=lambda seen: looks.append(seen.stage)), looks)


def test_a_batch_audits_every_delivery_and_counts_add_up(batch: Batch) -> None:
    folder, done, looks = batch.folder, batch.done, batch.looks
    verdict = done.verdict
    assert (verdict.verdict, verdict.violations, verdict.contracts) == ("violated", 1, 1)
    assert verdict.largest_ratio == pytest.approx(7 / 5)
    assert verdict.proved_ratio == pytest.approx(7 / 4)
    assert (verdict.runs, verdict.misses, verdict.losses) == (["r"], 1, {"policed": 1})
    # 9 deliveries, 4 of them seen by the subscriber too; the message that was policed is one more.
    assert (verdict.deliveries, verdict.used, verdict.duplicates) == (10, 14, 1)
    assert verdict.quarantined == {"duplicate file": 12, "order": 1, "truncated": 0}
    assert verdict.quarantined_files == {"duplicate file": 1, "truncated": 1}
    assert verdict.records == verdict.used + verdict.duplicates + sum(verdict.quarantined.values())
    assert verdict.dropped == {"ring": 3}
    assert looks == [LOOKING, STARTING, "records", "deliveries", *looks[4:-1], "verdict"]
    assert set(looks[4:-1]) == {table.name for table in TABLES}

    out = folder / "tables"
    assert done.table("violations").column("over_ns").to_pylist() == [2 * MS]
    assert done.frame("violations").count() == 1
    assert {row["reason"] for row in pq.read_table(out / "quarantine" / "rows").to_pylist()} == {"order"}
    names = pq.read_table(out / "quarantine" / "files.parquet").column("file").to_pylist()
    assert names == ["hub-1-00000002.parquet", "hub-1-copy.parquet"]
    assert result(out).verdict == verdict
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == [".lock"]
    before, kept = everything(out), json.loads((out / "verdict.json").read_text())

    # A few files that were left out are named, and where all are.
    first, second = left_out(out)
    assert re.fullmatch(
        r"files left out: hub-1-00000002\.parquet \(truncated: .+\),"
        r" hub-1-copy\.parquet \(duplicate file: a copy of hub-1-00000001\.parquet\)",
        first,
    )
    assert second == f"all of them: {out / 'quarantine' / 'files.parquet'}"

    # Again, by the command: nothing changes but the time it took.
    again = CliRunner().invoke(app, ["pipeline", "run", "--records", str(folder), "--json", "--strict"])
    assert again.exit_code == 1
    printed = json.loads(again.stdout)
    assert printed.pop("out") == str(out)
    assert lasting(printed) == lasting(kept) == lasting(json.loads((out / "verdict.json").read_text()))
    assert everything(out) == before


def test_the_page_of_a_batch_has_rows_in_every_section(batch: Batch, tmp_path: Path) -> None:
    page = report.write(batch.done.out, tmp_path / "report.html").read_text("utf-8")
    assert "has no column" not in page
    assert "Not in this folder" not in page
    shown = {part.partition('"')[0]: part for part in page.split('<section id="')[1:]}
    for section in SECTIONS:
        assert re.search("<td|<article", shown[section.anchor]), section.title
        assert 'class="nothing"' not in shown[section.anchor]
    # A space that does not break is one for `split`.
    words = {anchor: " ".join(re.sub("<[^>]*>", " ", part).split()) for anchor, part in shown.items()}
    assert "ward/3/alarm monitor → nurse #1 9 0 7 ms 4 ms 5 ms" in words["contracts"]
    assert "message 8" in words["violations"]
    assert "1 policed: came to the broker sooner" in words["losses"]
    assert "under contract" in words["shares"]
    assert "15 earned of 18" in words["earnings"]
    assert "hub → nurse 4" in words["links"]
    assert "hub up to 128" in words["service"]


def test_made_up_tables_have_columns_that_tables_have(batch: Batch) -> None:
    made = made_up.tables(1, violations=1)
    assert set(made) == {table.name for table in TABLES}
    for name, rows in made.items():
        real = pq.read_schema(next((batch.done.out / name).glob("*.parquet")))
        kinds = {field.name: kind(field.type) for field in real}
        for field in made_up.arrow(rows).schema:
            assert field.name in kinds, f"{name} has no {field.name}"
            assert kind(field.type) in ("null", kinds[field.name]), f"{name}: {field.name}"


def kind(found: pa.DataType) -> str:
    """What a column is for who reads it: the width of a number does not matter."""
    for said in ("integer", "floating", "string", "boolean", "map", "null"):
        if getattr(pa.types, f"is_{said}")(found):
            return said
    return str(found)


def test_where_no_record_can_be_used_tables_have_no_rows_and_replace_none(tmp_path: Path) -> None:
    good = seen(1, ingress=2, selected=3, egress=4)
    file, out = tmp_path / "run.parquet", tmp_path / "out"
    words = ["pipeline", "run", "--records", str(file), "--out", str(out)]
    write(file, [{**good, "t_selected_ns": -1}])
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1, done.output
    assert "nothing to judge: there was no record that could be used" in done.stdout
    assert f"giusto report {out}" in done.stderr
    empty = result(out).verdict
    assert (empty.records, empty.deliveries, empty.verdict, empty.largest_ratio) == (
        1,
        0,
        "no promises",
        None,
    )

    write(file, [good])
    assert CliRunner().invoke(app, words).exit_code == 0
    before = everything(out)
    write(file, [{**good, "t_selected_ns": -1}])
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "expected a record that can be used; left out 1 range; the tables in" in done.stderr
    assert everything(out) == before


def test_a_failure_leaves_the_tables_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "run.parquet", [seen(1, ingress=2, selected=3, egress=4)])
    done = pipeline.run(file)
    assert (done.verdict.records, done.verdict.verdict) == (1, "no promises")
    before = everything(done.out)
    failing = Table("failing", lambda inputs: inputs.deliveries.selectExpr("raise_error('no')"), same, same)
    monkeypatch.setattr(once, "TABLES", (failing, *TABLES))
    write(file, [seen(5, ingress=6, selected=7, egress=8)])
    with pytest.raises(SparkFailed, match="the tables are as they were before"):
        pipeline.run(file)
    assert everything(done.out) == before
    assert list(done.out.glob(".new-*")) == []


def same(rows: DataFrame) -> DataFrame:
    return rows


def test_a_file_that_is_damaged_removed_or_called_strangely_does_not_end_a_batch(tmp_path: Path) -> None:
    folder = tmp_path / "ward [1] {a}*?"
    for number, name in enumerate(("ward:3 50%20.parquet", "removed.parquet", "damaged.parquet")):
        rows = [seen(n, ingress=n + 1, selected=n + 2, egress=n + 3, sequence=n) for n in range(100)]
        write(folder / "records" / name, rows, run=f"r{number}", node="hub", sequence=1)
    strange, apart = folder / "records" / "ward:3 50%20.parquet", tmp_path / "apart.parquet"
    strange.rename(apart)
    strange.symlink_to(Path("..", "..", apart.name))
    shutil.copy(apart, strange.with_name(os.fsdecode(b"\xfcbersicht.parquet")))
    # A page in the middle of the file is overwritten: its footer is as good as ever.
    damaged = folder / "records" / "damaged.parquet"
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:4] + bytes(200) + whole[204:])

    def watch(seen: Progress) -> None:
        if seen.stage != LOOKING:
            (folder / "records" / "removed.parquet").unlink(missing_ok=True)

    done = pipeline.run(folder, watch=watch)
    assert (done.verdict.used, done.verdict.duplicates) == (100, 100)
    assert done.verdict.quarantined == {"corrupt": 100, "unreadable": 0}
    assert done.frame("deliveries").count() == 100
    left_out = pq.read_table(done.out / "quarantine" / "files.parquet").to_pylist()
    bad = {row["file"]: row["reason"] for row in left_out}
    assert bad == {"damaged.parquet": "corrupt", "\\xfcbersicht.parquet": "unreadable"}


def test_a_file_that_goes_while_it_is_read_elsewhere_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(linking.os, "link", refuse)
    for number, name in enumerate(("stays.parquet", "goes.parquet")):
        rows = [seen(n, ingress=n + 1, selected=n + 2, egress=n + 3, sequence=n) for n in range(10)]
        write(tmp_path / "records" / name, rows, run=f"r{number}", node="hub", sequence=1)

    def watch(seen: Progress) -> None:
        if seen.stage != LOOKING:
            (tmp_path / "records" / "goes.parquet").unlink(missing_ok=True)

    done = pipeline.run(tmp_path, tmp_path / "out", watch=watch)
    assert (done.verdict.records, done.verdict.used, done.verdict.quarantined) == (10, 10, {})
