"""A broker that is killed while it publishes an epoch: every row goes out, some of them twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pytest
from raw import WATCHDOG_S

import giusto
from giusto.errors import GiustoError
from giusto.retain import columns, requests
from giusto.retain.log import Log
from giusto.retain.requests import Publish, Stage
from giusto.retain.staged import schema
from giusto.retain.staging import Staging
from giusto.steward.steward import folder_name

PARTS, ROWS = 10, 100
ALL = set(range(PARTS * ROWS))
FILLING = bytes(4_000)
IDS = [f"{part:032x}-000000" for part in range(PARTS)]


@contextmanager
def broker(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that retains what the sink publishes, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0"],
        env={**os.environ, "GIUSTO_RETAIN_PATTERNS": "out", "GIUSTO_RETAIN_FOLDER": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip().removeprefix("ready ")
    finally:
        process.kill()
        process.communicate()


def body(part: int) -> bytes:
    rows = [
        {"topic": "out", "payload": b"%d " % number + FILLING, "priority": 0, "attributes": b""}
        for number in range(part * ROWS, (part + 1) * ROWS)
    ]
    return columns.encode([pa.RecordBatch.from_pylist(rows, schema())], schema())


def number_of(payload: bytes) -> int:
    return int(payload.partition(b" ")[0])


def ask(bus: giusto.Bus, what: str, question: Stage | Publish) -> None:
    bus.request(requests.SINK + what, requests.encode(question), timeout="60s")


def received_until_killed(folder: Path, kill_at: int) -> set[int]:
    """Commit an epoch, and kill the broker when so many rows have come: all that came."""
    found: set[int] = set()
    with (
        broker(folder) as (process, address),
        giusto.connect(address, reconnect=False) as writer,
        giusto.connect(address, reconnect=False) as reader,
    ):
        rows = reader.subscribe("out", queue=2 * PARTS * ROWS)
        for part, id in enumerate(IDS):
            ask(writer, "stage", Stage(id, ROWS, body(part)))
        committing = threading.Thread(target=commit, args=(writer,))
        committing.start()
        with suppress(GiustoError):  # the connection ends with the broker
            while True:
                found.add(number_of(rows.receive(timeout=WATCHDOG_S).payload))
                if len(found) == kill_at:
                    process.kill()
        committing.join()
    return found


def commit(bus: giusto.Bus) -> None:
    with suppress(GiustoError):
        ask(bus, "commit", Publish("q", 0, IDS))


def kept_after_restart(folder: Path) -> set[int]:
    """What the log has when the broker has published the rest, and has ended as it should."""
    with broker(folder) as (process, _):
        # Ready means that what was interrupted has gone out.
        process.terminate()
        process.wait(WATCHDOG_S)
    last = Staging(folder / "sink").last("q")
    assert last is not None
    assert last.is_done
    log = Log(folder / folder_name("out"), "out")
    batches = log.fetch(log.first, log.head).batches
    return {number_of(payload) for batch in batches for payload in batch.column("payload").to_pylist()}


@pytest.mark.long
def test_no_row_is_missing_after_kill_9(tmp_path: Path, seed: int, cases: int) -> None:
    chance = random.Random(seed)
    for number in range(6 * cases):
        folder = tmp_path / str(number)
        found = received_until_killed(folder, chance.randrange(1, PARTS * ROWS - ROWS))
        assert ALL - found - kept_after_restart(folder) == set()
