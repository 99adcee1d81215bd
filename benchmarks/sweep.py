"""How much of its time a sweep spends on the runs: from one core to two, and what a run costs beside itself.

A run burns a known amount of processor time and says how long it took. What a core did not spend in runs is
overhead, whatever else the machine does meanwhile. Plain processes that do the same show what two cores could
give at that moment.
"""

from __future__ import annotations

import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pyarrow.parquet as pq

from giusto.pipeline import session, sweep

MASTERS = {1: "local[1]", 2: "local[2]"}
# Cases and the milliseconds that each of them takes.
LOADS = ((1_000, 0), (400, 10), (80, 50))
HERE = "sweep:spin"


@dataclass(frozen=True, slots=True)
class Taken:
    """How long a sweep took, its runs by themselves, and the same runs in plain processes."""

    cores: int
    runs: int
    seconds: float
    in_runs_s: float
    plain_s: float

    @property
    def overhead_ms(self) -> float:
        """What a core spent beside runs, for each run."""
        return (self.cores * self.seconds - self.in_runs_s) / self.runs * 1e3

    @property
    def in_runs(self) -> float:
        """The part of the cores' time that was spent in runs, in percent."""
        return self.in_runs_s / (self.cores * self.seconds) * 100


def spin(cost_ms: float, seed: int) -> dict[str, float]:
    """Use the processor for so long."""
    start = time.process_time()
    while (spent := time.process_time() - start) < cost_ms / 1e3:
        pass
    return {"spent_s": spent}


def swept(folder: Path, cores: int, count: int, cost_ms: float) -> Taken:
    """A sweep with all that belongs to it but the start of Spark."""
    out = folder / f"{cores}-{count}-{cost_ms}-{time.monotonic_ns()}"
    start = time.perf_counter()
    done = sweep.run(HERE, sweep.grid(cost_ms=float(cost_ms), seed=range(count)), out)
    seconds = time.perf_counter() - start
    assert not done.failures
    in_runs_s = sum(pq.read_table(out / "results", columns=["seconds"])["seconds"].to_pylist())
    return Taken(cores, count, seconds, in_runs_s, plainly(cores, count, cost_ms))


def plainly(cores: int, count: int, cost_ms: float) -> float:
    """The same runs in as many processes, without Spark."""
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        list(pool.map(spin, [0.0] * cores, range(cores)))
        start = time.perf_counter()
        list(pool.map(spin, [cost_ms] * count, range(count), chunksize=max(1, count // (10 * cores))))
        return time.perf_counter() - start


def measured(cores: int, folder: Path) -> list[Taken]:
    """Each load on a session of its own that is warm."""
    start = time.perf_counter()
    session.session(MASTERS[cores], session.QUICK)
    report("start", f"{MASTERS[cores]} | session", time.perf_counter() - start, "s")
    first = swept(folder, cores, 2, 0)
    report("start", f"{MASTERS[cores]} | first sweep, of 2 empty runs", first.seconds, "s")
    swept(folder, cores, 200, 0)
    found = [swept(folder, cores, *load) for load in LOADS]
    session.stop()
    return found


def report(bench: str, case: str, value: float, unit: str) -> None:
    """One figure as a line of JSON."""
    figure = {"bench": f"sweep, {bench}", "case": case, "value": round(value, 4), "unit": unit}
    print(json.dumps(figure), flush=True)


def main() -> None:
    """Measure every load with one core and with two."""
    with tempfile.TemporaryDirectory() as name:
        found = {cores: measured(cores, Path(name)) for cores in MASTERS}
    for (count, cost_ms), one, two in zip(LOADS, found[1], found[2], strict=True):
        row = f"{count:,} runs of {cost_ms} ms"
        for taken in (one, two):
            report("time", f"{row} | {MASTERS[taken.cores]}", taken.seconds, "s")
            report("time", f"{row} | {MASTERS[taken.cores]}, beside a run", taken.overhead_ms, "ms")
        if cost_ms:
            report("time", f"{row} | 1 to 2 cores", one.seconds / two.seconds, "times")
            report("time", f"{row} | 1 to 2 cores, plain processes", one.plain_s / two.plain_s, "times")
            report("time", f"{row} | {MASTERS[2]}, in runs", two.in_runs, "%")


if __name__ == "__main__":
    main()
