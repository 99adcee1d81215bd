"""A sweep in a process of its own that is killed, and goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import experiments
import pytest

from giusto.pipeline import sweep

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
# Not a limit on speed: a sweep that never gets anywhere must not stop the test run.
WATCHDOG_S = 300
SEEDS = 2_000


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """`giusto sweep run` among the experiments of the tests."""
    process = subprocess.Popen(
        [sys.executable, "-m", "giusto", "sweep", "run", *words],
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def eventually(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    """Wait for what the process does."""
    end = time.monotonic() + WATCHDOG_S
    while not condition():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.02)


def parts(out: Path) -> int:
    return len(list((out / "results").glob("part-*.parquet")))


def finished(out: Path) -> set[int]:
    return {row["seed"] for row in sweep.results(out).collect()}


def test_kill_9_loses_only_what_was_under_way(tmp_path: Path) -> None:
    marks, out = tmp_path / "marks", tmp_path / "out"
    marks.mkdir()
    words = (
        "experiments:marked",
        "--param",
        f"folder={marks}",
        "--seeds",
        str(SEEDS),
        "--master",
        "local[2]",
    )
    with started(*words, "--out", str(out)) as process:
        eventually(process, lambda: parts(out) >= 3)
        process.kill()
        process.wait(timeout=WATCHDOG_S)
        assert process.stderr is not None
        assert "Exception" not in process.stderr.read()
    before = finished(out)
    assert 0 < len(before) < SEEDS

    # A part of the rest is enough to see that nothing is run again.
    few = sorted(before)[:20] + [seed for seed in range(SEEDS) if seed not in before][:20]
    done = sweep.run("experiments:marked", sweep.grid(folder=str(marks), seed=few), out, resume=True)
    assert (done.cases, done.failures) == (40, [])
    assert done.ran == len(set(few) - before)
    assert finished(out) == before | set(few)
    counts = experiments.marks(marks)
    assert all(counts[seed] == 1 for seed in before)
