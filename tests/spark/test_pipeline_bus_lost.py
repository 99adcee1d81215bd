"""A stream over the bus whose broker hangs and then is killed: it waits and goes on, and counts add up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from retaining import WATCHDOG_S, Retaining, wait_for

import giusto
from giusto import pipeline
from giusto.pipeline.progress import Progress
from giusto.pipeline.result import Result
from giusto.record import read

pytestmark = pytest.mark.spark

SENT = 40
WAITING = "waiting for the broker"


def send(address: str, records: Path) -> None:
    """Messages from one client to another; over when all of them are in files."""
    before = recorded(records)
    with giusto.connect(address) as bus, bus.subscribe("ward/#"), bus.advertise("ward/3/pulse") as pulse:
        for _ in range(SENT):
            pulse.publish(b"71")
        wait_for(lambda: recorded(records) == before + SENT)


def recorded(records: Path) -> int:
    """Records in whole files."""
    return sum(read(path, ["topic"]).num_rows for path in records.glob("*.parquet"))


class Following:
    """A stream in a thread, and what it says of itself."""

    def __init__(self, address: str, out: Path) -> None:
        self.seen = Progress("")
        self.done: list[Result] = []
        self.failed: list[BaseException] = []
        self._looks = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(address, out))
        self._thread.start()

    def _run(self, address: str, out: Path) -> None:
        often = {"every": "100ms", "refresh": "0s", "delay": "2s"}
        try:
            done = pipeline.stream(
                out=out, bus=address, publish=address, ended=self._ended, watch=self._watch, **often
            )
            self.done.append(done)
        except BaseException as error:
            self.failed.append(error)

    def _watch(self, progress: Progress) -> None:
        self.seen = progress
        self._looks += 1

    def wait_for(self, condition: Callable[[Progress], bool]) -> None:
        """Until the stream says so, in a look that begins now."""
        looks = self._looks

        def holds() -> bool:
            assert self._thread.is_alive(), self.failed
            return self._looks > looks and condition(self.seen)

        wait_for(holds)

    def end(self) -> None:
        self._ended.set()
        self._thread.join(WATCHDOG_S)


@contextmanager
def following(address: str, out: Path) -> Iterator[Following]:
    stream = Following(address, out)
    try:
        yield stream
    finally:
        stream.end()


@pytest.mark.long
def test_a_stream_outlives_a_broker_that_hangs_and_one_that_is_killed(tmp_path: Path) -> None:
    records, settings = tmp_path / "trace" / "records", {"traces": True, "models_listen": "true"}
    with Retaining(tmp_path, "none", **settings) as broker:
        address = broker.address
        send(address, records)
        with following(address, tmp_path / "out") as stream:
            stream.wait_for(lambda seen: seen.rows == SENT and seen.stage == "waiting")
            # Its connections stay open, and nothing comes over them.
            broker.process.send_signal(signal.SIGSTOP)
            stream.wait_for(lambda seen: seen.stage == WAITING)
            broker.process.send_signal(signal.SIGCONT)
            send(address, records)
            stream.wait_for(lambda seen: seen.rows == 2 * SENT)
            broker.process.kill()
            broker.process.wait()
            stream.wait_for(lambda seen: seen.stage == WAITING)
            with Retaining(tmp_path, "none", listen=address.replace("giusto", "tcp"), **settings):
                send(address, records)
                total = recorded(records)
                stream.wait_for(lambda seen: seen.rows == total)
                stream.end()
    assert stream.failed == []
    verdict = stream.done[0].verdict
    assert verdict.records == total >= 3 * SENT
    assert verdict.used + verdict.duplicates + sum(verdict.quarantined.values()) == verdict.records
    assert (verdict.deliveries, verdict.duplicates, verdict.quarantined) == (total, 0, {})
