"""Streams for tests: files that come one after the other, the process that reads them, and what it leaves."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from records import at_subscriber, seen, write

from giusto.pipeline.tables.catalog import TABLES

S, MS = 1_000_000_000, 1_000_000
# Not a limit on speed: a stream that never gets anywhere must not stop the test run.
WATCHDOG_S = 900
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


@contextmanager
def process(folder: Path, out: Path, log: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """`giusto pipeline run --stream` in a process of its own."""
    words = ["--stream", "--records", str(folder), "--out", str(out), "--master", "local[2]", "--json"]
    words += ["--every", "300ms", "--refresh", "0s", "--delay", "2s", *more]
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


def eventually(running: subprocess.Popen[Any], log: Path, condition: Callable[[], bool]) -> None:
    """Wait for what the process does."""
    end = time.monotonic() + WATCHDOG_S
    while not condition():
        assert running.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.02)
