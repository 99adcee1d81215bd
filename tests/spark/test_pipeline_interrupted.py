"""Ctrl-C at any moment of a pipeline: one line, the tables as they were, and no process is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from streams import WATCHDOG_S, eventually, kept_state, process, tables, trace_file

from giusto import pipeline

pytestmark = pytest.mark.spark

QUICK = ("spark.driver.memory=1g", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1")


@contextmanager
def batch(folder: Path, out: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`giusto pipeline run` in a process of its own, whose temporary files are beside the log."""
    words = ["--records", str(folder), "--out", str(out), "--master", "local[2]"]
    words += [word for setting in QUICK for word in ("--conf", setting)]
    scratch = log.with_name("scratch")
    scratch.mkdir(exist_ok=True)
    with log.open("wb") as file:
        running = subprocess.Popen(
            [sys.executable, "-m", "giusto", "pipeline", "run", *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def interrupt(running: subprocess.Popen[bytes]) -> int:
    """Ctrl-C, as a terminal sends it; how it ended."""
    os.killpg(running.pid, signal.SIGINT)
    return running.wait(timeout=WATCHDOG_S)


def require_only(log: Path, text: str) -> None:
    """Nothing was said but this, and how far it was on a slow machine."""
    *before, last = log.read_text().splitlines()
    assert last == text
    assert all(re.match("(looking at|starting|[0-9]+ of) ", line) for line in before), before


def java(scratch: Path) -> list[str]:
    """The processes that use a folder: their command lines have it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue  # it has ended
        if os.fsencode(scratch) in words:
            found.append(words.decode(errors="replace"))
    return found


def test_ctrl_c_ends_a_batch_with_a_line_and_leaves_the_tables_as_they_were(tmp_path: Path) -> None:
    folder, out, log = tmp_path / "trace", tmp_path / "out", tmp_path / "log"
    trace_file(folder, 1, 0)
    # While Spark starts: nothing is there yet, and nothing stays.
    with batch(folder, out, log) as running:
        eventually(running, log, lambda: java(tmp_path / "scratch") != [])
        assert interrupt(running) == 130
    require_only(log, "giusto: interrupted: no tables were made")
    assert not out.exists()
    assert java(tmp_path / "scratch") == list((tmp_path / "scratch").iterdir()) == []

    # While tables are made.
    pipeline.run(folder, out)
    before, verdict = tables(out), (out / "verdict.json").read_text()
    trace_file(folder, 2, 5)
    with batch(folder, out, log) as running:
        eventually(running, log, lambda: any(out.glob(".new-*/deliveries")))
        assert interrupt(running) == 130
    require_only(log, f"giusto: interrupted: the tables in {out} are as they were")
    assert (tables(out), (out / "verdict.json").read_text()) == (before, verdict)
    assert [path.name for path in out.glob(".*")] == [".lock"]
    assert java(tmp_path / "scratch") == list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.long
def test_a_second_ctrl_c_ends_a_stream_now_and_the_next_start_goes_on(tmp_path: Path) -> None:
    folder, out, log = tmp_path / "trace", tmp_path / "out", tmp_path / "log"
    written = len(trace_file(folder, 1, 0))
    with process(folder, out, log) as running:
        eventually(running, log, lambda: kept_state(out)["records"] == written)
        running.send_signal(signal.SIGINT)
        eventually(running, log, lambda: "ending: the tables are brought up to date" in log.read_text())
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=WATCHDOG_S) == 130
    assert log.read_text().splitlines()[-1] == "giusto: ended: the next start goes on from here"
    written += len(trace_file(folder, 2, 10))
    with process(folder, out, log) as running:
        eventually(running, log, lambda: kept_state(out)["records"] == written)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=WATCHDOG_S) == 0
    assert tables(out) == tables(pipeline.run(folder, tmp_path / "batch").out)
