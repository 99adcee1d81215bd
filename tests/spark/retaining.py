"""A broker that retains topics, and may trace them, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import giusto
from giusto.retain import requests
from giusto.retain.requests import LogIs

# Not a limit on speed: what never comes must not stop the test run.
WATCHDOG_S = 300.0


class Retaining:
    """`giusto broker` with a folder for retained topics, and with one for records if it is told to."""

    def __init__(
        self,
        folder: Path,
        patterns: str,
        *,
        traces: bool = False,
        listen: str = "tcp://127.0.0.1:0",
        **settings: str,
    ) -> None:
        variables = {
            **{f"GIUSTO_{name.upper()}": value for name, value in settings.items()},
            "GIUSTO_RETAIN_PATTERNS": patterns,
            "GIUSTO_RETAIN_FOLDER": str(folder / "retained"),
        }
        if traces:
            variables |= {"GIUSTO_TRACE_FOLDER": str(folder / "trace"), "GIUSTO_TRACE_FILE_AGE": "200ms"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "giusto", "broker", "--listen", listen],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline().strip()
        assert ready.startswith("ready ")
        self.address = ready.removeprefix("ready ")
        self.staged = folder / "retained" / "sink" / "staged"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.kill()
        self.process.communicate()


def publish(address: str, topic: str, payloads: Sequence[bytes], **attributes: Any) -> None:
    """Publish, at a pace that the keeper has no trouble with."""
    with giusto.connect(address) as bus, bus.advertise(topic) as publisher:
        before = kept(bus, topic)
        for start in range(0, len(payloads), 500):
            publisher.publish_many(payloads[start : start + 500], attributes=attributes or None)
            bus.flush()
        wait_for(lambda: kept(bus, topic) >= before + len(payloads))


def kept(bus: giusto.Bus, topic: str) -> int:
    log = log_of(bus, topic)
    assert not log.lost, log.lost
    return log.head


def log_of(bus: giusto.Bus, topic: str) -> LogIs:
    reply = bus.request(requests.LOG + "find", requests.encode(requests.Find(topic)))
    return requests.decode(reply.payload, LogIs)


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds."""
    end = time.monotonic() + WATCHDOG_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
