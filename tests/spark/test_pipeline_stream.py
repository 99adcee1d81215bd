"""A stream: tables that equal those of a batch, whatever comes late, and whenever the process is killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from records import at_subscriber, seen, write

from giusto import pipeline
from giusto.errors import InvalidInput
from giusto.pipeline.progress import Progress
from giusto.pipeline.tables.catalog import TABLES

pytestmark = pytest.mark.spark

S, MS = 1_000_000_000, 1_000_000
# Not a limit on speed: a stream that never gets anywhere must not stop the test run.
WATCHDOG_S = 300
BOUND = {"bound_ns": 5 * MS, "deadline_ns": 4 * MS, "price": 2.0, "penalty": 1.0, "min_sep_ns": 10 * MS}
# What differs between a batch and a stream of the same rows.
OWN = ("started", "seconds", "pending", "state_bytes")


def trace_file(folder: Path, number: int, first_s: int, seed: int = 0, rows: int = 40) -> list[Any]:
    """Records of five seconds: some seen by the subscriber too, some late, some lost, one twice."""
    chance = random.Random(1000 * seed + number)
    found = []
    for each in range(rows):
        sent = first_s * S + each * (5 * S // rows) + chance.randrange(MS)
        wait = chance.choice([1, 1, 1, 1, 8]) * MS
        who = {"sequence": 1000 * number + each, "publisher": f"bed-{each % 3}", **BOUND}
        times = {"ingress": sent + 10_000, "selected": sent + wait, "egress": sent + wait + 20_000}
        found.append(seen(sent, **times, **who))
        if each % 4 == 0:
            found.append(at_subscriber(sent, sent + wait + 50_000, **who))
        if each % 10 == 0:
            nobody = {"subscriber": None, "subscription": None, "outcome": "policed"}
            found.append(seen(sent, ingress=sent + 10_000, **{**who, **nobody, "topic": "ward/3/flood"}))
    found.append(found[0])
    path = folder / "records" / f"hub-1-{number:08}.parquet"
    write(path.with_name(f".{path.name}.tmp"), found, run="r", node="hub", sequence=number, wall_offset_ns=7)
    path.with_name(f".{path.name}.tmp").rename(path)
    return found


def tables(out: Path) -> dict[str, list[str]]:
    """The rows of every table, in an order of their own."""
    names = ("deliveries", *(table.name for table in TABLES))
    return {name: sorted(map(repr, pq.read_table(out / name).to_pylist())) for name in names}


def lasting(verdict: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in verdict.items() if name not in OWN}


def kept_state(out: Path) -> dict[str, Any]:
    """What a stream has written down so far; nothing before its first micro-batch."""
    path = out / "stream" / "state.json"
    return json.loads(path.read_text()) if path.exists() else {"records": 0, "batch": -1}


class Course:
    """Does one thing after the other, each when the stream has read all of what came before."""

    def __init__(self, *actions: Callable[[], int]) -> None:
        self.actions = list(actions)
        self.wanted = 0
        self.ended = threading.Event()

    def watch(self, seen: Progress) -> None:
        if seen.stage != "waiting" or seen.rows < self.wanted:
            return
        if self.actions:
            self.wanted += self.actions.pop(0)()
        else:
            self.ended.set()


def test_a_stream_has_the_tables_of_a_batch_and_says_what_came_too_late(tmp_path: Path) -> None:
    folder, out = tmp_path / "trace", tmp_path / "out"
    (folder / "records").mkdir(parents=True)
    late = [seen(2 * S + n, ingress=2 * S + n, sequence=9_000 + n) for n in range(3)]
    strange = folder / "records" / "strange.parquet"

    def more() -> int:
        """A slice ends; a file that is none comes with it, and one of a run that has no name."""
        strange.write_bytes(b"PAR1 and then nothing")
        nameless = [{**row, "run": None} for row in trace_file(folder, 3, 25)]
        write(folder / "records" / "nameless.parquet", nameless)
        return 2 * len(nameless)

    def too_late() -> int:
        """Rows of a slice that is settled, and some that cannot be."""
        impossible = seen(26 * S, ingress=26 * S, selected=25 * S, sequence=1)
        write(folder / "records" / "late.parquet", [*late, impossible])
        return len(late) + 1

    course = Course(
        lambda: len(trace_file(folder, 1, 0)), lambda: len(trace_file(folder, 2, 8)), more, too_late
    )
    options: dict[str, Any] = {"every": "50ms", "refresh": "1h", "delay": "5s"}
    streamed = pipeline.stream(folder, out, ended=course.ended, watch=course.watch, **options)
    verdict = streamed.verdict
    assert (verdict.quarantined, verdict.complete) == ({"late": 3, "order": 1, "truncated": 0}, False)
    assert 0 < verdict.pending < verdict.used
    assert verdict.state_bytes > 0
    assert verdict.records == verdict.used + verdict.duplicates + sum(verdict.quarantined.values())
    reasons = pq.read_table(out / "quarantine" / "rows").column("reason").to_pylist()
    assert sorted(reasons) == ["late"] * 3 + ["order"]

    before = tables(out)
    (folder / "records" / "late.parquet").unlink()
    batch = pipeline.run(folder, tmp_path / "batch")
    assert tables(batch.out) == before
    assert (batch.verdict.deliveries, batch.verdict.losses) == (verdict.deliveries, verdict.losses)
    assert batch.verdict.violations == verdict.violations > 0
    assert batch.verdict.largest_ratio == verdict.largest_ratio

    # It goes on only with what it was.
    again = Course()
    with pytest.raises(InvalidInput, match="of the same window_ns: it holds 10000000000, not 1000000000"):
        pipeline.stream(folder, out, ended=again.ended, window="1s", **options)
    with pytest.raises(InvalidInput, match="a stream of the same records"):
        pipeline.stream(tmp_path / "batch", out, ended=again.ended, **options)
    shutil.rmtree(out / "stream" / "checkpoint")
    with pytest.raises(InvalidInput, match=r"checkpoint of query .*, not of None; remove .* to begin anew"):
        pipeline.stream(folder, out, ended=again.ended, **options)


@contextmanager
def process(folder: Path, out: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`giusto pipeline run --stream` in a process of its own."""
    words = ["--stream", "--records", str(folder), "--out", str(out), "--master", "local[2]", "--json"]
    words += ["--every", "50ms", "--refresh", "0s", "--delay", "2s"]
    words += [
        "--conf",
        "spark.driver.memory=1g",
        "--conf",
        "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1",
    ]
    with log.open("wb") as file:
        running = subprocess.Popen(
            [sys.executable, "-m", "giusto", "pipeline", "run", *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
        )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def eventually(running: subprocess.Popen[bytes], log: Path, condition: Callable[[], bool]) -> None:
    """Wait for what the process does."""
    end = time.monotonic() + WATCHDOG_S
    while not condition():
        assert running.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.02)


def test_kill_9_at_any_moment_loses_nothing_and_counts_nothing_twice(tmp_path: Path, seed: int) -> None:
    folder, out, log = tmp_path / "trace", tmp_path / "out", tmp_path / "log"
    chance = random.Random(seed)
    written = 0
    for round_ in range(2):
        before = kept_state(out)["records"]
        with process(folder, out, log) as running:
            for number in range(1, 4):
                first_s = 10 * (3 * round_ + number)
                written += len(trace_file(folder, 3 * round_ + number, first_s, seed))
                # Killed while it reads, settles or presents what is one file or two behind.
                eventually(running, log, lambda: kept_state(out)["records"] > before)  # noqa: B023
            time.sleep(chance.uniform(0, 0.5))
            running.kill()
            running.wait(timeout=WATCHDOG_S)
        assert 0 < kept_state(out)["records"] <= written
    with process(folder, out, log) as running:
        eventually(running, log, lambda: kept_state(out)["records"] == written)
        running.send_signal(signal.SIGTERM)
        said, _ = running.communicate(timeout=WATCHDOG_S)
        assert running.returncode == 0, log.read_text()
    batch = pipeline.run(folder, tmp_path / "batch")
    assert tables(out) == tables(batch.out)
    verdict = {**json.loads(said), "out": None}
    assert lasting(verdict) == lasting({**batch.verdict.to_dict(), "out": None})
    assert verdict["records"] == written
