"""The guide is true: its commands and programs run, in the order of the page, and give what they should."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from giusto.cli.app import app
from giusto.pipeline.tables.catalog import TABLES

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "pipeline.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_names_every_table() -> None:
    named = re.findall(r"^\| `(\w+)` \| ", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert {table.name for table in TABLES} | {"deliveries"} <= set(named)


def test_what_the_guide_shows_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {}
    for language, text in BLOCK.findall(GUIDE.read_text("utf-8")):
        if language == "python":
            exec(compile(text, GUIDE.name, "exec"), names)
            continue
        for line in text.splitlines():
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, f"{line}: {done.output}"
    printed = capsys.readouterr().out
    records = pq.read_metadata(tmp_path / "wards.parquet").num_rows
    waits = names["waits"].collect()  # type: ignore[attr-defined]
    assert sum(row["messages"] for row in waits) == records
    assert {row["from_s"] for row in waits} >= {0, 20, 40}
    assert sum(row["count"] for row in names["sizes"].collect()) == records  # type: ignore[attr-defined]
    assert "p99_ns" in printed
    assert "verdict" in printed
