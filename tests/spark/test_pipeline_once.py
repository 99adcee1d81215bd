"""A batch: records of all kinds in, tables and a verdict out, and the same again."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from records import at_subscriber, seen, write
from typer.testing import CliRunner

from giusto import pipeline
from giusto.cli.app import app
from giusto.cli.pipeline.quarantine import left_out
from giusto.errors import SparkFailed
from giusto.pipeline import linking, once
from giusto.pipeline.progress import LOOKING, STARTING, Progress
from giusto.pipeline.result import result
from giusto.pipeline.tables.catalog import TABLES
from giusto.pipeline.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark

MS = 1_000_000


def trace(folder: Path) -> Path:
    """A trace folder with every kind of file and row: ten good records, one copied, one impossible."""
    bound = {"bound_ns": 5 * MS, "deadline_ns": 4 * MS, "price": 2.0, "penalty": 1.0}
    times = [
        seen(n * MS, ingress=n * MS + 10, selected=n * MS + 30, egress=n * MS + 50, sequence=n, **bound)
        for n in range(8)
    ]
    # 7 ms after it was sent, when 5 ms were promised.
    times.append(seen(8 * MS, ingress=9 * MS, selected=14 * MS, egress=15 * MS, sequence=8, **bound))
    lost = seen(
        9 * MS, ingress=9 * MS + 10, sequence=9, outcome="policed", subscriber=None, subscription=None
    )
    impossible = seen(20 * MS, ingress=21 * MS, selected=20 * MS, egress=22 * MS, sequence=10, **bound)
    first = write(
        folder / "records" / "hub-1-00000001.parquet",
        [*times, lost, impossible, times[0]],
        run="r",
        node="hub",
        sequence=1,
    )
    ends = [at_subscriber(n * MS, n * MS + 100, sequence=n) for n in range(4)]
    write(folder / "records" / "nurse-1-00000001.parquet", ends, run="r", node="nurse", sequence=1)
    shutil.copy(first, first.with_name("hub-1-copy.parquet"))
    whole = first.read_bytes()
    first.with_name("hub-1-00000002.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "manifest").mkdir()
    (folder / "manifest" / "hub-1.jsonl").write_text(
        '{"event": "dropped", "rows": 3, "reason": "ring"}\n{"event": "dropped", "rows": 2, "reason": "ri'
    )
    return folder


def rows(out: Path, name: str) -> list[str]:
    """The rows of a table, in an order of their own."""
    return sorted(map(repr, pq.read_table(out / name).to_pylist()))


def everything(out: Path) -> dict[str, list[str]]:
    """All tables."""
    return {name: rows(out, name) for name in ("deliveries", *(table.name for table in TABLES))}


def lasting(kept: dict[str, Any]) -> dict[str, Any]:
    """A verdict without what the time of day has to do with."""
    return {name: value for name, value in kept.items() if name not in ("started", "seconds")}


def test_a_batch_audits_every_delivery_and_counts_add_up(tmp_path: Path) -> None:
    folder = trace(tmp_path / "trace")
    looks: list[str] = []
    done = pipeline.run(folder, watch=lambda seen: looks.append(seen.stage))
    verdict = done.verdict
    assert (verdict.verdict, verdict.violations, verdict.contracts) == ("violated", 1, 1)
    assert verdict.largest_ratio == pytest.approx(7 / 5)
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
