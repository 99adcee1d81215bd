"""A query that is killed at random points, with its JVM, and goes on: none lost, none twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest
from retaining import WATCHDOG_S, Retaining, log_of, publish, wait_for

import giusto
from giusto.errors import NotInstalled
from giusto.pipeline.prerequisites import require_spark
from giusto.pipeline.source.options import parsed
from giusto.pipeline.source.remote import Remote, forget
from giusto.retain.requests import Fetch

pytestmark = [pytest.mark.spark, pytest.mark.long]

HERE = Path(__file__).parent
KILLS = 2
ROWS = 4_000


class Copy:
    """The query of `copying.py`, in a process group of its own, which ends with the block."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "copying.py"), *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """All of it at once: driver, JVM and workers."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


def copied(address: str) -> list[bytes]:
    """What the copy has, read without Spark."""
    remote = Remote(parsed({"url": address}))
    log = remote.find("copy/a")
    tables = remote.fetch(Fetch(log.id, log.first, log.head))
    return [payload for table in tables for payload in table.column("payload").to_pylist()]


def test_a_killed_query_loses_nothing_and_repeats_nothing(tmp_path: Path, seed: int, cases: int) -> None:
    try:
        require_spark()
    except NotInstalled as error:
        pytest.skip(f"Spark cannot run here: {error}")
    draw, checkpoint = random.Random(seed), str(tmp_path / "checkpoint")
    sent = [b"%d" % number for number in range(ROWS)]
    with (
        Retaining(tmp_path / "kept", patterns="ward/#,copy/#") as broker,
        giusto.connect(broker.address) as bus,
    ):
        publish(broker.address, "ward/a", sent)
        for _ in range(KILLS * cases):
            enough = log_of(bus, "copy/a").head + draw.randrange(1, 500)
            with Copy(broker.address, checkpoint, "100") as query:
                wait_for(lambda: log_of(bus, "copy/a").head >= enough or query.process.poll() is not None)  # noqa: B023
                # It may be anywhere in an epoch, or between two.
                time.sleep(draw.random() / 2)
        between = log_of(bus, "copy/a").head
        with Copy(broker.address, checkpoint, str(ROWS)) as query:
            said, problems = query.process.communicate(timeout=WATCHDOG_S)
        assert said.strip() == "done", problems
        wait_for(lambda: log_of(bus, "copy/a").head >= ROWS)
        assert between < ROWS, "it was killed while it had something to do"
        assert not log_of(bus, "copy/a").lost
        assert Counter(copied(broker.address)) == Counter(sent)
    forget(broker.address)
