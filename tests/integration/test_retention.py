"""`giusto broker` with retained topics, as a process that is stopped and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from raw import WATCHDOG_S
from watch import eventually

import giusto
from giusto.retain import requests
from giusto.retain.log import Log
from giusto.retain.requests import LogIs
from giusto.steward.steward import folder_name


def started(folder: Path, patterns: str = "ward/#") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0"],
        env={**os.environ, "GIUSTO_RETAIN_PATTERNS": patterns, "GIUSTO_RETAIN_FOLDER": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip().removeprefix("ready ")


def head(bus: giusto.Bus) -> int:
    question = requests.encode(requests.Find("ward/1"))
    return requests.decode(bus.request("$giusto/log/find", question).payload, LogIs).head


def payloads(folder: Path) -> list[bytes]:
    log = Log(folder / folder_name("ward/#"), "ward/#")
    return [
        payload
        for batch in log.fetch(log.first, log.head).batches
        for payload in batch.column("payload").to_pylist()
    ]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_what_could_be_read_is_there_after_the_end(tmp_path: Path, end: signal.Signals) -> None:
    for rounds in (1, 2):
        process = started(tmp_path)
        with giusto.connect(address_of(process), reconnect=False) as bus:
            with bus.advertise("ward/1") as publisher:
                publisher.publish_many([b"%d" % number for number in range(500)])
            eventually(lambda: head(bus) == 500 * rounds, "all that was published")  # noqa: B023
            process.send_signal(end)
            process.wait(WATCHDOG_S)
        said = process.communicate()[1]
        assert f"retains ward/# in {tmp_path / folder_name('ward/#')}: {500 * (rounds - 1)} messages" in said
    assert payloads(tmp_path) == [b"%d" % number for number in range(500)] * 2


def test_what_waits_at_the_end_is_kept(tmp_path: Path) -> None:
    process = started(tmp_path)
    with giusto.connect(address_of(process), reconnect=False) as bus:
        with bus.advertise("ward/1") as publisher:
            publisher.publish_many([b"x"] * 300)
        bus.flush()
        bus.status()
        process.terminate()
        process.wait(WATCHDOG_S)
    process.communicate()
    assert len(payloads(tmp_path)) == 300


def test_a_folder_that_cannot_be_used_is_said_and_nothing_is_served(tmp_path: Path) -> None:
    (tmp_path / folder_name("ward/#")).mkdir()
    (tmp_path / folder_name("ward/#") / "log.json").write_text("{}")
    process = started(tmp_path)
    out, said = process.communicate(timeout=WATCHDOG_S)
    assert (process.returncode, out) == (1, "")
    assert "not the description of a log; choose another folder" in said
    (tmp_path / "file").touch()
    process = started(tmp_path / "file")
    assert "expected a folder that can be written to" in process.communicate(timeout=WATCHDOG_S)[1]
    process = started(tmp_path, "ward/#/x")
    assert "GIUSTO_RETAIN_PATTERNS[0]" in process.communicate(timeout=WATCHDOG_S)[1]
