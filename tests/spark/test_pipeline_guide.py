"""The guide is true: its commands and programs run, in the order of the page, and give what they should."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from streams import WATCHDOG_S, eventually
from typer.testing import CliRunner

import giusto
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
        for line in text.splitlines() if language == "sh" else ():
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


@contextmanager
def terminal(folder: Path, line: str) -> Iterator[subprocess.Popen[str]]:
    """A command of the guide that goes on until it is ended."""
    quick = {"GIUSTO_BROKER_LISTEN": "tcp://127.0.0.1:0", "GIUSTO_TRACE_FILE_AGE": "200ms"}
    with (folder / "log").open("a") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", *shlex.split(line)],
            cwd=folder,
            env={**os.environ, **quick, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


@pytest.mark.long
def test_what_the_guide_shows_of_a_running_broker_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = (text for language, text in BLOCK.findall(GUIDE.read_text("utf-8")) if language == "console")
    broker_line, stream_line, report_line = block.splitlines()
    with terminal(tmp_path, broker_line) as broker:
        assert broker.stdout is not None
        with giusto.connect(broker.stdout.readline().split()[1]) as bus:
            nurse = bus.subscribe("ward/3/alarm")
            bus.advertise("ward/3/alarm").publish(b"SpO2 low")
            nurse.receive(timeout=WATCHDOG_S)
        with terminal(tmp_path, stream_line) as stream:
            eventually(stream, tmp_path / "log", (tmp_path / "live" / "verdict.json").exists)
            stream.send_signal(signal.SIGINT)
            printed, _ = stream.communicate(timeout=WATCHDOG_S)
        assert stream.returncode == 0, (tmp_path / "log").read_text()
    assert "1 arrived, 0 lost" in printed
    done = CliRunner().invoke(app, shlex.split(report_line)[1:])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "live" / "report.html").stat().st_size > 0
