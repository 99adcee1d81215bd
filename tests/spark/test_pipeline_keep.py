"""A stream that keeps deliveries for a while: old ones go, sums stay, and counts add up over restarts."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from streams import WATCHDOG_S, S, eventually, kept_state, lasting, process, tables, trace_file

from giusto import pipeline
from giusto.pipeline.progress import Progress
from giusto.pipeline.streaming import parts

pytestmark = pytest.mark.spark

# Of each file: 40 that came, and 4 that were policed.
DELIVERIES = 44


def file_of(folder: Path, number: int, seed: int = 0) -> int:
    """The file of one slice; how many rows it has."""
    return len(trace_file(folder, number, 10 * number, seed))


def has_forgotten(out: Path, number: int) -> bool:
    """Whether nothing is left of the deliveries before those of a file, which wait."""
    return kept_state(out).get("forgotten") == DELIVERIES * (number - 1)


def require_sums_only(folder: Path, out: Path, verdict: dict[str, Any], number: int) -> None:
    """Everything is as in a batch, but for deliveries before those of a file."""
    batch = pipeline.run(folder, out.with_name("batch"))
    found, wanted = tables(out), tables(batch.out)
    left = pq.read_table(batch.out / "deliveries").filter(pc.field("t_sent_ns") >= 10 * number * S)
    assert found.pop("deliveries") == sorted(map(repr, left.to_pylist()))
    wanted.pop("deliveries")
    assert found == wanted
    assert verdict["forgotten"] == batch.verdict.deliveries - left.num_rows > 0
    assert lasting({**verdict, "forgotten": 0}) == lasting(batch.verdict.to_dict())
    assert not list((out / "stream" / "parts").rglob("deliveries/*.parquet"))


@pytest.mark.long
def test_deliveries_older_than_keep_go_while_sums_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "TOGETHER", 2)
    folder, out = tmp_path / "trace", tmp_path / "out"
    written, number = file_of(folder, 1), 1
    for last in (3, 4):
        ended = threading.Event()

        def watch(progress: Progress) -> None:
            nonlocal written, number
            if progress.rows == written and has_forgotten(out, number):
                if number == last:  # noqa: B023
                    ended.set()  # noqa: B023
                else:
                    number += 1
                    written += file_of(folder, number)

        watchdog = threading.Timer(WATCHDOG_S, ended.set)
        watchdog.start()
        done = pipeline.stream(
            folder, out, ended=ended, watch=watch, every="50ms", refresh="1h", delay="2s", keep="1ms"
        )
        watchdog.cancel()
        assert number == last
    require_sums_only(folder, out, done.verdict.to_dict(), 4)


@pytest.mark.long
def test_a_process_that_forgets_is_killed_and_counts_nothing_twice(tmp_path: Path, seed: int) -> None:
    folder, out, log = tmp_path / "trace", tmp_path / "out", tmp_path / "log"
    keep, written = ("--keep", "1s"), 0
    with process(folder, out, log, *keep) as running:
        for number in range(1, 5):
            written += file_of(folder, number, seed)
            eventually(running, log, lambda: kept_state(out)["records"] == written)  # noqa: B023
        eventually(running, log, lambda: kept_state(out)["forgotten"] > 0)
        running.kill()
        running.wait(timeout=WATCHDOG_S)
    with process(folder, out, log, *keep) as running:
        written += file_of(folder, 5, seed)
        eventually(running, log, lambda: kept_state(out)["records"] == written)
        eventually(running, log, lambda: has_forgotten(out, 5))
        running.send_signal(signal.SIGTERM)
        said, _ = running.communicate(timeout=WATCHDOG_S)
        assert running.returncode == 0, log.read_text()
    verdict = json.loads(said)
    verdict.pop("out")
    require_sums_only(folder, out, verdict, 5)
