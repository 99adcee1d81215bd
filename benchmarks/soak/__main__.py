"""Run a broker with contracts near the limit of what it admits, make it hard for it, and say how it went.

Exit status: 0 if no miss is ours, 1 if one is. docs/reference/soak.md says how to read the table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import tempfile
from pathlib import Path

from benchmarks.soak import cast as casting
from benchmarks.soak import report
from benchmarks.soak.broker import TOLERANCES_NS, BrokerProcess, calibrate, costs_of, setting_of
from benchmarks.soak.child import Said
from benchmarks.soak.judge import Row, judge
from benchmarks.soak.stage import Found, Stage
from rich.console import Console

from giusto.guarantee.costs import Costs
from giusto.guarantee.model import Setting

CALIBRATION_S = 20


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long it plays (10)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="draws the contracts")
    parser.add_argument("--input", default="twrr", help="policy of the input stage (twrr)")
    parser.add_argument(
        "--calibration", metavar="FILE", help="use this one, not a fresh one; `defaults` for none"
    )
    parser.add_argument(
        "--rate", type=float, default=6_000.0, help="messages per second in all, at most (6000)"
    )
    parser.add_argument(
        "--tightness", type=float, default=0.9, help="bound/max_latency of each contract (0.9)"
    )
    parser.add_argument("--patient", action="store_true", help="do not ask for real-time priorities")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    console = Console(width=None if os.isatty(1) else 160)
    with tempfile.TemporaryDirectory() as folder:
        calibration = calibration_of(given.calibration, Path(folder), console)
        setting, cast = cast_for(given, costs_of(calibration))
        console.print(f"seed {given.seed}: {report.introduction(cast, setting)}")
        hurried = not given.patient and may_hurry()
        with (
            BrokerProcess(Path(folder), setting, cast, calibration, hurried) as broker,
            Stage(cast, broker.address, broker.process, hurried) as stage,
        ):
            stage.fill()
            stage.tighten(given.tightness)
            found = stage.play(given.minutes * 60, Progress(console, given.minutes * 60))
    rows = [judge(*pair, found.peaks.get(pair[0].topic, []), found.stalls) for pair in found.contracts]
    show(console, rows, found)
    if given.json is not None:
        given.json.write_text(json.dumps(document(given.seed, cast, rows, found), indent=2) + "\n")
    return 1 if any(row.ours for row in rows) else 0


def cast_for(given: argparse.Namespace, costs: Costs) -> tuple[Setting, casting.Cast]:
    """Contracts that this machine can hold, with the tolerance under which they may use most of it."""
    found = []
    for tolerance_ns in TOLERANCES_NS:
        setting = setting_of(given.input, costs, tolerance_ns)
        with contextlib.suppress(casting.Hopeless):
            found.append((setting, casting.draw(given.seed, setting, given.rate)))
    if not found:
        raise SystemExit("nothing is admitted: the costs of this machine are too high")
    return max(found, key=lambda pair: pair[1].utilisation)


def calibration_of(given: str | None, folder: Path, console: Console) -> Path | None:
    """A fresh one unless another is named."""
    if given == "defaults":
        return None
    if given is not None:
        return Path(given)
    console.print(f"calibrating for {CALIBRATION_S} s …")
    return calibrate(folder, CALIBRATION_S)


def may_hurry() -> bool:
    """Whether the machine grants real-time priorities to us."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (OSError, AttributeError):
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


class Progress:
    """Says how it goes, now and then."""

    def __init__(self, console: Console, seconds: float) -> None:
        self.console, self.seconds = console, seconds
        self.every_s = max(5.0, seconds / 20)
        self.next_s = self.every_s

    def __call__(self, seconds: float, said: list[Said]) -> None:
        if seconds < self.next_s:
            return
        self.next_s += self.every_s
        counts = [one for one in said if "messages" in one and "done" not in one]
        messages = sum(one["messages"] for one in counts)
        ratio = max((one["max_ns"] / one["bound_ns"] for one in counts), default=0.0)
        misses = sum(one["misses"] for one in counts)
        self.console.print(report.progress(seconds, self.seconds, messages, ratio, misses))


def show(console: Console, rows: list[Row], found: Found) -> None:
    console.print(report.table(rows))
    stalls = [stall.ns for who, stall in found.stalls if who == "machine"]
    breaker = found.turned_away - found.policed
    console.print(report.summary(rows, stalls, found.policed, breaker, found.flooded))


def document(seed: int, cast: casting.Cast, rows: list[Row], found: Found) -> dict[str, object]:
    """All figures, for programs."""
    return {
        "seed": seed,
        "basis": found.basis,
        "load": cast.load,
        "utilisation": cast.utilisation,
        "rate_hz": cast.rate_hz,
        "flooded": found.flooded,
        "policed": found.policed,
        "turned_away": found.turned_away,
        "stalls": len(found.stalls),
        "longest_stall_ns": max((stall.ns for _, stall in found.stalls), default=0),
        "contracts": [row.document() for row in rows],
    }


if __name__ == "__main__":
    raise SystemExit(main())
