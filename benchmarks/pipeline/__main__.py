"""Measures the pipeline, shows it, and writes docs/benchmarks-pipeline.md."""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.pipeline import whole
from benchmarks.pipeline.measures import Course, empty_jobs, engines
from benchmarks.pipeline.page import Figures, number, page, percent, stages
from benchmarks.pipeline.records import CLIENTS, FILE_ROWS, write
from benchmarks.run import Figure, figures, machine
from rich.console import Console

from giusto.pipeline import session
from giusto.pipeline.volume import volume

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "benchmarks" / "source.py"
PAGE = ROOT / "docs" / "benchmarks-pipeline.md"
MILLIONS = (1, 5, 20)
# A stream settles something from the third file on.
WARM_FILES = 3
PACE_HZ = 200_000
WARM_ROWS = 200_000
MILLION = 1_000_000
# Nearly all deliveries are of two records here: the slow way through silver.
ENDS_MILLIONS = 5


def measured(folder: Path, millions: list[int], console: Console) -> Figures:
    """Everything, from the fewest records to the most."""
    start = time.perf_counter()
    paths = write(folder / "records", max(millions) * MILLION)
    console.print(f"{max(millions)} million records made in {time.perf_counter() - start:.0f} s")
    spark = session.session("local[2]", volume(2))
    warm = Course(folder / "warm", engines(spark, folder), lambda _: None)
    warm.size(write(folder / "few", WARM_ROWS), WARM_ROWS)
    course = Course(folder / "tables", engines(spark, folder), console.print)
    for size in millions:
        course.size(paths[: size * MILLION // FILE_ROWS], size * MILLION)
    ends = Course(folder / "tables", course.engines, console.print)
    size = min(ENDS_MILLIONS, max(millions)) * MILLION
    ends.ends(write(folder / "ends", size, traced=CLIENTS), size)
    empty_s = list(empty_jobs(spark))
    wholes = [whole.batch(folder / "records", folder / "batch", max(millions) * MILLION)]
    console.print(f"batch: {wholes[-1].seconds:.1f} s")
    wholes += streamed(folder, paths, console)
    session.stop()
    return Figures(course.took, wholes, empty_s, source(), ends.took)


def streamed(folder: Path, paths: list[Path], console: Console) -> list[whole.Whole]:
    """A stream over these files, after one over few of them; then one to which they come in time."""
    for name, files in (("few", paths[:WARM_FILES]), ("all", paths)):
        place = folder / "streams" / name
        at_once = whole.stream(some(place / "trace", files), place / "tables", len(files) * FILE_ROWS)
    place = folder / "streams" / "paced"
    in_time = whole.paced(place / "trace", place / "tables", paths, FILE_ROWS, PACE_HZ)
    for found in (at_once, in_time):
        tell(found, console)
    return [at_once, in_time]


def tell(found: whole.Whole, console: Console) -> None:
    """What a stream came to, for the terminal."""
    console.print(f"{found.title}: {found.rows / found.seconds:,.0f} records/s, {found.seconds:.1f} s")
    console.print(f"processor seconds per million records: {number(found.processor_us)}")
    console.print(f"waiting at most: {found.pending_rows:,} records, {found.pending_bytes / 1e6:.0f} MB")
    if found.behind_rows is not None:
        console.print("behind at most: {:,} records, then {:,}".format(*found.behind_rows))
    for what, seconds in stages(found):
        console.print(f"  {what}: {seconds:.1f} s, {percent(seconds / found.seconds)}")


def stream_alone(folder: Path, millions: int, console: Console) -> None:
    """The stream in a session of its own, of which no page is written."""
    paths = write(folder / "records", millions * MILLION)
    session.session("local[2]", volume(2))
    streamed(folder, paths, console)
    session.stop()


def source() -> list[Figure]:
    """What the program that measures the data source says."""
    done = subprocess.run([sys.executable, SOURCE], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return figures(done.stdout.splitlines())


def some(folder: Path, paths: list[Path]) -> Path:
    """A trace folder with these files."""
    found = folder / "records"
    found.mkdir(parents=True)
    for path in paths:
        os.link(path, found / path.name)
    return found.parent


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="make bench-pipeline", description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=list(MILLIONS), help="sizes, in records")
    parser.add_argument("--folder", type=Path, help="where to put some gigabytes meanwhile")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write what was measured")
    parser.add_argument("--stream", action="store_true", help="only the stream, and no page")
    given = parser.parse_args()
    console = Console()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        if given.stream:
            stream_alone(Path(name), max(given.millions), console)
            return
        found = measured(Path(name), sorted(given.millions), console)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    where = f"{machine()}, with a load average of {load:.0f} before the run"
    given.page.write_text(page(found, where, today), encoding="utf-8")
    console.print(f"written to {given.page}")


if __name__ == "__main__":
    main()
