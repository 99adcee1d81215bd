"""A publisher becomes bursty while the broker runs, and what is let through and what is refused follow.

A monitor offered one message in 10 ms. It keeps to that at first, and a doctor is promised the shortest
latency that there is. Then the monitor sends four messages at once, and most of them are policed. Spark makes
`arrival_envelope` of what the broker traced, and publishes it on `$giusto/model/envelope`.

The broker refuses the model as long as the doctor's promise would break. When the doctor has left, the broker
lets bursts through, and what it granted to the doctor before it refuses now. When the monitor advertises
anew, all is as it was.

Needs Java and `pip install "giusto[spark]"`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import giusto
from giusto import record
from giusto.models import VERDICT, ModelVerdict, decode_verdict
from giusto.pipeline import models

TOPIC = "ward/3/alarm"
OFFER = giusto.Offer(min_sep="10ms", max_size=64)
MESSAGES, BURST = 40, 4
WATCHDOG_S = 60


@dataclass(frozen=True)
class Step:
    """What happened, how many messages were policed after it, and what became of the doctor's promise.

    `verdict` is what the broker made of the model, if one was published; `refused` why there is no promise.
    """

    what: str
    policed: int
    verdict: ModelVerdict | None = None
    refused: giusto.Refused | None = None


@contextmanager
def broker(trace: str) -> Iterator[str]:
    """The address of a broker that traces, and takes up what was measured of flows."""
    command = [sys.executable, "-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0", "--trace", trace]
    settings = {
        "GIUSTO_MODELS_LISTEN": "true",
        "GIUSTO_MODELS_ENVELOPE": "apply",
        "GIUSTO_TRACE_FILE_AGE": "200ms",
    }
    environment = {**os.environ, **settings}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().removeprefix("ready ")
        finally:
            process.terminate()


class Ward:
    """A monitor that publishes, a nurse who listens, and a doctor who wants the shortest latency there is."""

    def __init__(self, monitor: giusto.Bus, nurse: giusto.Bus, doctor: giusto.Bus) -> None:
        self.monitor, self.doctor, self.sent = monitor, doctor, 0
        self.alarm = monitor.advertise(TOPIC, OFFER)
        nurse.subscribe(TOPIC, giusto.Need(max_latency="200ms"))
        self.verdicts = nurse.subscribe(VERDICT)
        refused = self.ask(1)
        if refused is None or refused.nearest is None or refused.nearest.max_latency_ns is None:
            raise SystemExit("a nanosecond cannot be promised, something longer can")
        self.shortest_ns = refused.nearest.max_latency_ns

    def ask(self, latency_ns: int) -> giusto.Refused | None:
        """The doctor asks for a promise; returns why there is none, if there is none."""
        try:
            self.promise = self.doctor.subscribe(TOPIC, giusto.Need(max_latency=f"{latency_ns}ns"))
        except giusto.Refused as refused:
            return refused
        return None

    def advertise_anew(self) -> None:
        """The monitor offers what it offered at first."""
        self.alarm.unadvertise()
        self.alarm = self.monitor.advertise(TOPIC, OFFER)

    def send(self, at_once: int) -> int:
        """Send half as often as was offered, so many at once; returns how many messages were policed."""
        before = self.policed()
        for _ in range(MESSAGES // at_once):
            for _ in range(at_once):
                self.alarm.publish(b"SpO2 low")
            self.policed()  # when the broker answers, it has read what was sent before
            time.sleep(0.02 * at_once)
        self.sent += MESSAGES
        return self.policed() - before

    def policed(self) -> int:
        """Messages that broke an offer so far."""
        return self.monitor.status().totals.get("policed", 0)

    def measured(self, trace: str) -> dict[str, pa.Table]:
        """What Spark makes of the trace, once all that was sent is in it."""
        end_s = time.monotonic() + WATCHDOG_S
        while len(numbers(trace)) < self.sent:
            if time.monotonic() > end_s:
                raise SystemExit(f"{trace} has {len(numbers(trace))} of {self.sent} messages")
            time.sleep(0.05)
        return models.measured(trace, ["arrival_envelope"])

    def publish(self, tables: dict[str, pa.Table]) -> ModelVerdict:
        """Publish what was measured on the bus; what the broker makes of it comes over the bus too."""
        models.publish(self.monitor.address, tables)
        return decode_verdict(self.verdicts.receive(timeout="60s").payload)


def numbers(trace: str) -> set[int]:
    """The messages of which there is a record."""
    rows = record.read(trace, ["topic", "sequence"]).to_pylist()
    return {row["sequence"] for row in rows if row["topic"] == TOPIC}


def steps(ward: Ward, trace: str) -> Iterator[Step]:
    """All of it, one after the other."""
    refused = ward.ask(ward.shortest_ns)
    yield Step("one at a time", ward.send(1), None, refused)
    yield Step("four at once", ward.send(BURST), None, refused)
    tables = ward.measured(trace)
    verdict = ward.publish(tables)
    yield Step("model published", ward.send(BURST), verdict, refused)
    ward.promise.unsubscribe()
    verdict = ward.publish(tables)
    yield Step("doctor leaves, model again", ward.send(BURST), verdict, ward.ask(ward.shortest_ns))
    ward.advertise_anew()
    yield Step("monitor advertises anew", ward.send(BURST), None, ward.ask(ward.shortest_ns))


def follow() -> tuple[int, list[Step]]:
    """What the doctor asks for, and what happened at one broker."""
    with (
        tempfile.TemporaryDirectory() as trace,
        broker(trace) as address,
        giusto.connect(address, name="monitor") as monitor,
        giusto.connect(address, name="nurse") as nurse,
        giusto.connect(address, name="doctor") as doctor,
    ):
        ward = Ward(monitor, nurse, doctor)
        return ward.shortest_ns, list(steps(ward, trace))


def show(latency_ns: int, found: list[Step], console: Console) -> None:
    """The steps as a table, and what the broker said."""
    rows = Table("step", "policed", "model", f"doctor asks for {latency_ns / 1e6:.2f} ms")
    for step in found:
        answer = "refused" if step.refused else "granted"
        decision = step.verdict.decision if step.verdict else ""
        rows.add_row(step.what, f"{step.policed} of {MESSAGES}", decision, answer)
    console.print(rows)
    for said in (said for step in found for said in (step.verdict, step.refused) if said):
        console.print(f"- {said}", highlight=False)


if __name__ == "__main__":
    show(*follow(), Console())
