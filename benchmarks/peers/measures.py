"""What is measured with raw sockets: one run of `load` against one broker."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks.peers import inside
from benchmarks.peers.brokers import Broker, Running, running

RUN_SECONDS = 120.0
# One line of figures, or a field `error` that says why there are none.
Line: TypeAlias = Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Measure:
    """A mode of `load` with its options."""

    name: str
    title: str
    options: tuple[str, ...]
    seconds: float
    with_relay: bool = False

    def covers(self, broker: Broker) -> bool:
        """Whether it can be measured at all: the relay has one publisher and one subscriber."""
        return self.with_relay or broker.dialect != "relay"


MEASURES = [
    Measure("throughput", "Throughput", ("throughput",), 1.0, with_relay=True),
    Measure("latency-250", "Delay at 250/s", ("latency", "--rate", "250"), 2.0, with_relay=True),
    Measure("latency-5000", "Delay at 5,000/s", ("latency", "--rate", "5000"), 1.0, with_relay=True),
    Measure("flood", "A 1,000/s topic beside a flood", ("flood", "--rate", "1000"), 1.5),
    Measure("stalled", "A subscriber that stops reading",
            ("stalled", "--rate", "1000", "--subscribers", "4"), 1.5),
    Measure("many", "10,000 topics over 1,000 connections", ("many",), 1.0),
]  # fmt: skip


def run(load: Path, broker: Broker, measure: Measure) -> Line:
    """One round of one measure on a fresh broker."""
    mode, *options = measure.options
    try:
        with running(broker) as place:
            command = [str(load), mode, broker.dialect, place.address, *options]
            command += ["--seconds", str(measure.seconds), "--pid", str(place.pid)]
            line = figures(command)
            if broker.dialect == "giusto":
                line |= more_about_giusto(measure, line, place)
    except (RuntimeError, OSError) as error:
        return {"error": str(error)}
    return line


def more_about_giusto(measure: Measure, line: Line, place: Running) -> dict[str, float]:
    """Time within the broker beside a flood, and what a turn takes at full speed."""
    if measure.name == "flood":
        return inside.delays(place.port, "paced")
    if measure.name == "throughput":
        return {"turn_us": inside.turn_us(float(line["rate"]))}
    return {}


def figures(command: list[str]) -> dict[str, float | str]:
    """The line that a program printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no end after {RUN_SECONDS:g} s") from None
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"status {done.returncode}")
    found: dict[str, float | str] = json.loads(done.stdout)
    return found
