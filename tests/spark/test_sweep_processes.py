"""A sweep in a process of its own that is interrupted, then killed, and goes on each time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import experiments
import pytest

from giusto.pipeline import sweep

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

HERE = Path(__file__).parent
# Not a limit on speed: a sweep that never gets anywhere must not stop the test run.
WATCHDOG_S = 300
SEEDS = 2_000


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """`giusto sweep run` among the experiments of the tests, deaf to nothing."""
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


def test_ctrl_c_and_kill_9_lose_only_what_was_under_way(tmp_path: Path) -> None:
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
        process.send_signal(signal.SIGINT)
        told, error = process.communicate(timeout=WATCHDOG_S)
    assert (process.returncode, told) == (130, "")
    assert error.splitlines()[-1] == f"interrupted: go on with `giusto sweep run --resume --out {out}`"
    assert "Exception" not in error
    first = finished(out)
    assert 0 < len(first) < SEEDS

    with started("--resume", "--out", str(out), "--master", "local[2]") as process:
        before = parts(out)
        eventually(process, lambda: parts(out) >= before + 3)
        process.kill()
        process.wait(timeout=WATCHDOG_S)
    second = finished(out)
    assert first < second
    assert len(second) < SEEDS

    # The rest is a smaller sweep: that nothing is run twice shows without running all of it.
    few = sorted(second)[:20] + [seed for seed in range(SEEDS) if seed not in second][:20]
    done = sweep.run("experiments:marked", sweep.grid(folder=str(marks), seed=few), out, resume=True)
    assert (done.cases, done.ran, done.failures) == (40, 20, [])
    counts = experiments.marks(marks)
    assert all(counts[seed] == 1 for seed in first)
    assert finished(out) == second | set(few)
    assert json.loads((out / "sweep.json").read_text())["experiment"] == "experiments:marked"
