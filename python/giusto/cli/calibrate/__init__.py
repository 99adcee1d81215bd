"""`giusto calibrate`: what the broker's work costs on this machine, written down for admission."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli import options
from giusto.cli.exits import guarded
from giusto.errors import InvalidInput

if TYPE_CHECKING:
    from giusto.cli.calibrate.course import Findings
    from giusto.guarantee.calibration import Calibration

EXAMPLES = """\b
Examples:
  giusto calibrate
  giusto calibrate --seconds 120 --percentile 99.99
  giusto calibrate --output /etc/giusto/calibration.json --json | jq .costs"""

SECONDS_MAX = 86_400


@guarded
def calibrate(
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", help="Measure for so long; more is surer.")
    ] = 20.0,
    percentile: Annotated[
        float, typer.Option(metavar="PERCENT", help="A cost covers so many of a hundred cases.")
    ] = 99.9,
    confidence: Annotated[float, typer.Option(metavar="PERCENT", help="How sure that has to be.")] = 95.0,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Write the calibration there.")
    ] = Path("calibration.json"),
    as_json: options.Json = False,
) -> None:
    """Measure what the broker's work costs on this machine, and write it to a file for admission.

    The broker's own code is timed, piece by piece, over sockets of this machine. Time in which the system
    runs other programs is not a cost of the broker: it is told apart, as the machine's stalls.
    """
    from giusto.cli.calibrate.table import report
    from giusto.cli.terminal import show
    from giusto.guarantee import calibration

    require_sane(seconds, percentile, confidence, output)
    found = measured(seconds, percentile, confidence)
    calibration.save(found, output)
    if as_json:
        print(json.dumps(calibration.document(found)))
    else:
        show(report(found, output))


def require_sane(seconds: float, percentile: float, confidence: float, output: Path) -> None:
    """Refuse what cannot work before time is spent on it."""
    from giusto._build import require_release
    from giusto.guarantee import quantile

    require_release()
    if not 0.1 <= seconds <= SECONDS_MAX:
        raise InvalidInput("--seconds", seconds, f"a number from 0.1 to {SECONDS_MAX}")
    quantile.part("--percentile", percentile)
    quantile.part("--confidence", confidence)
    if not output.parent.is_dir() or output.is_dir():
        raise InvalidInput("--output", output, "a file in a folder that exists")


def measured(seconds: float, percentile: float, confidence: float) -> Calibration:
    """A calibration of this machine, made now."""
    from giusto.cli.calibrate.course import Findings
    from giusto.guarantee import calibration

    findings, start = Findings(), datetime.now(UTC)
    measure_with_progress(seconds, percentile, confidence, findings)
    return calibration.fit(
        findings.samples,
        findings.stalls_ns,
        away_ns=findings.away_ns,
        date=start,
        seconds=seconds,
        stall_seconds=findings.stall_spent_ns / 1e9,
        percentile=percentile,
        confidence=confidence,
    )


def measure_with_progress(seconds: float, percentile: float, confidence: float, findings: Findings) -> None:
    """Run the course, with a bar on stderr if somebody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from giusto import _core
    from giusto.cli.calibrate.course import Measured, Task, run
    from giusto.guarantee.quantile import samples_needed

    def measure(task: Task, slice_ns: int) -> Measured:
        return _core.measure(task.name, duration_ns=slice_ns, size_bytes=task.size_bytes, count=task.number)

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        total_ns = round(seconds * 1e9)
        bar = progress.add_task("measuring", total=total_ns)
        for done_ns in run(total_ns, samples_needed(percentile, confidence), measure, findings):
            progress.advance(bar, done_ns)
