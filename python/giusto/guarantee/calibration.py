"""What the broker's work costs on one machine: from samples to costs, and as a file.

`fit` makes a calibration of samples, `save` writes it, `load` reads the costs for those who compute bounds. A
file that cannot be relied on is refused with what to do about it. The fields: docs/reference/calibration.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

from giusto.errors import InvalidInput
from giusto.guarantee import machine
from giusto.guarantee.calibration_file import FORMAT, calibration_in
from giusto.guarantee.costs import Costs
from giusto.guarantee.fitting import fitted
from giusto.guarantee.machine import Machine
from giusto.guarantee.measured import Calibration, Point, Stalls, Work
from giusto.guarantee.pooling import points_of, stalled

__all__ = ["Calibration", "Point", "Stalls", "Work", "fit", "load", "read", "save"]


def fit(
    samples: Mapping[Work, Sequence[int]],
    stalls_ns: Sequence[int],
    *,
    date: datetime,
    seconds: float,
    stall_seconds: float,
    away_ns: Sequence[int] = (),
    percentile: float = 99.9,
    confidence: float = 95.0,
    here: Machine | None = None,
) -> Calibration:
    """The calibration that nanoseconds of each piece of work, and of stalls, amount to.

    `away_ns` is for how long the system ran something else, each time that it did in the midst of the work.
    """
    points = points_of(samples, percentile, confidence)
    total = sum(point.samples for point in points)
    day = date.date().isoformat()
    hits_ns = [*stalled(samples), *away_ns]
    basis = (
        f"calibration of {day}, p{percentile:g} at {confidence:g} %, {total:,} samples, "
        f"{len(hits_ns):,} stalls set aside"
    )
    stalls = summed_up(sorted(stalls_ns), stall_seconds, hits_ns)
    return Calibration(
        date=date.isoformat(timespec="seconds"),
        seconds=seconds,
        percentile=percentile,
        confidence=confidence,
        samples=total,
        machine=machine.this_machine() if here is None else here,
        points=points,
        stalls=stalls,
        costs=fitted(points, stalls.max_ns, basis),
    )


def summed_up(ascending: Sequence[int], seconds: float, hits_ns: Sequence[int]) -> Stalls:
    """Percentiles of stalls in ascending order, and how many hit the work that was measured."""
    if not ascending:
        raise InvalidInput("stalls", "none", "at least one sample")

    def at(percent: float) -> int:
        return ascending[min(len(ascending) - 1, int(len(ascending) * percent / 100))]

    return Stalls(
        seconds=seconds,
        samples=len(ascending),
        p50_ns=at(50),
        p99_ns=at(99),
        p99_9_ns=at(99.9),
        max_ns=max(ascending[-1], *hits_ns, 0),
        hits=len(hits_ns),
    )


def save(calibration: Calibration, path: str | os.PathLike[str]) -> None:
    """Write the file as a whole: a reader, also after a crash, finds the old one or the new one."""
    place = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document(calibration), file, indent=1)
            file.write("\n")
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(name).replace(place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    directory = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def document(calibration: Calibration) -> dict[str, object]:
    """The file as JSON knows it."""
    fields = asdict(calibration)
    fields["points"] = [{**point.pop("work"), **point} for point in fields["points"]]
    return {"format": FORMAT, **fields}


def load(path: str | os.PathLike[str], *, any_machine: bool = False) -> Costs:
    """The costs in a file. One of another machine or build is refused unless `any_machine` allows it."""
    return read(path, any_machine=any_machine).costs


def read(path: str | os.PathLike[str], *, any_machine: bool = False) -> Calibration:
    """All that is in a file, checked."""
    found = calibration_in(Path(path))
    different = machine.differences(found.machine, machine.this_machine())
    if not different:
        return found
    if not any_machine:
        raise InvalidInput(
            "calibration",
            Path(path),
            f"one of this machine and build, but {listed(different)}: run `giusto calibrate` here, "
            "or allow it with any_machine = true in [guarantee]",
        )
    is_here = set(different) <= {"version", "source"}
    foreign = replace(
        found.costs, basis=f"{found.costs.basis}, of another {'build' if is_here else 'machine'}"
    )
    return replace(found, costs=foreign)


def listed(names: Sequence[str]) -> str:
    """`the cpu and the kernel differ`."""
    the = [f"the {WORDS.get(name, name)}" for name in names]
    together = " and ".join([", ".join(the[:-1]), the[-1]] if len(the) > 1 else the)
    return f"{together} {'differ' if len(the) > 1 else 'differs'}"


WORDS = {
    "cpu": "processor",
    "cores": "number of processors",
    "clock": "clock source",
    "version": "version of giusto",
    "source": "build of giusto",
}
