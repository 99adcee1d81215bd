"""From a broker to tables and back: records come over the bus, and what they teach is taken up."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from retaining import WATCHDOG_S, Retaining, wait_for
from typer.testing import CliRunner

import giusto
from giusto.cli.app import app
from giusto.models import VERDICT, ModelVerdict, decode_verdict
from giusto.record import read

pytestmark = pytest.mark.spark

TOPIC = "ward/3/alarm"
OFFER = giusto.Offer(min_sep="10ms", max_size=64)
BURST, BURSTS = 4, 5
SENT = BURST * BURSTS
QUICK = (
    "--conf",
    "spark.driver.memory=1g",
    "--conf",
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1",
)


class Ward:
    """A monitor that sends more at once than it offered, and a nurse to whom its alarms are promised."""

    def __init__(self, folder: Path, address: str, monitor: giusto.Bus, nurse: giusto.Bus) -> None:
        self.records, self.address, self.nurse = folder / "trace" / "records", address, nurse
        self.alarm = monitor.advertise(TOPIC, OFFER)
        nurse.subscribe(TOPIC, giusto.Need(max_latency="1s"))
        self.verdicts = nurse.subscribe(VERDICT)

    def send(self) -> None:
        """Bursts, no more in all than was offered; over when all of them are in files."""
        before = self.recorded
        for _ in range(BURSTS):
            for _ in range(BURST):
                self.alarm.publish(b"SpO2 low")
            time.sleep(2 * BURST * 0.01)
        wait_for(lambda: self.recorded == before + SENT)

    @property
    def recorded(self) -> int:
        """Records in whole files."""
        return sum(read(path, ["topic"]).num_rows for path in self.records.glob("*.parquet"))

    def verdict(self) -> ModelVerdict:
        """What the broker makes of the flow."""
        while (said := decode_verdict(self.verdicts.receive(timeout=WATCHDOG_S).payload)).kind != "envelope":
            pass
        return said

    @property
    def allowed(self) -> int:
        """How many of the monitor the broker lets through at once."""
        (party,) = self.nurse.publishers(TOPIC)
        assert party.offer is not None
        return party.offer.burst


@contextmanager
def ward(folder: Path) -> Iterator[Ward]:
    """A broker process that traces and takes models up, with its clients."""
    with (
        Retaining(folder, "none", traces=True, models_listen="true", models_envelope="apply") as broker,
        giusto.connect(broker.address, name="monitor") as monitor,
        giusto.connect(broker.address, name="nurse") as nurse,
    ):
        yield Ward(folder, broker.address, monitor, nurse)


def words(found: Ward, out: Path, *more: str) -> list[str]:
    address = found.address
    return ["pipeline", "run", "--bus", address, "--publish", address, "--out", str(out), "--json", *more]


def require_audited(verdict: dict[str, Any], messages: int) -> None:
    assert (verdict["records"], verdict["contracts"]) == (messages, 1)
    assert verdict["deliveries"] == messages
    assert verdict["losses"]["policed"] >= 1


def test_what_a_batch_learned_of_a_broker_goes_back_to_it(tmp_path: Path) -> None:
    with ward(tmp_path) as found:
        found.send()
        assert found.allowed == 1
        done = CliRunner().invoke(app, words(found, tmp_path / "out", "--once"))
        assert done.exit_code == 0, done.output
        require_audited(json.loads(done.stdout), SENT)
        assert re.search(r"published [1-9].* model.* says on \$giusto/model/verdict", done.stderr)
        said = found.verdict()
        assert said.decision == "applied", said.reason
        assert 1 < found.allowed <= BURST


@pytest.mark.long
def test_a_stream_tells_the_broker_while_it_runs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ward(tmp_path) as found, log.open("wb") as errors:
        found.send()
        often = ("--every", "200ms", "--refresh", "0s", "--master", "local[2]")
        process = subprocess.Popen(
            [sys.executable, "-m", "giusto", *words(found, tmp_path / "out", "--stream", *often, *QUICK)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        try:
            said = found.verdict()
            assert said.decision == "applied", said.reason
            assert 1 < found.allowed <= BURST
            found.send()
            wait_for(lambda: state(tmp_path / "out")["records"] == 2 * SENT)
            os.killpg(process.pid, signal.SIGTERM)  # as a terminal or a service does
            printed, _ = process.communicate(timeout=WATCHDOG_S)
            assert process.returncode == 0, log.read_text()
        finally:
            process.kill()
            process.communicate()
    require_audited(json.loads(printed), 2 * SENT)


def state(out: Path) -> dict[str, Any]:
    path = out / "stream" / "state.json"
    return json.loads(path.read_text()) if path.exists() else {"records": 0}
