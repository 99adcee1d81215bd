"""A disk that is full is said to be so; the tables stay as they were, and go on when there is room."""

from __future__ import annotations

import errno
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from records import seen, write

from giusto import pipeline
from giusto.pipeline.progress import Progress, Watch
from giusto.pipeline.tables.catalog import TABLES

pytestmark = [pytest.mark.spark, pytest.mark.long]

DISK_BYTES = 16 << 20
# Not a limit on speed: a stream that never gets anywhere must not stop the test run.
WATCHDOG_S = 300
ROWS = 200


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place)]
    try:
        done = subprocess.run(mounting, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no program mount")
    if done.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> Path:
    """A file that takes all the room there is."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12):
            with suppress(OSError):
                for _ in range(DISK_BYTES // size + 1):
                    file.write(bytes(size))
    assert shutil.disk_usage(disk).free == 0
    return path


def add(folder: Path, number: int) -> None:
    """A file of records."""
    sent = [number * ROWS + n for n in range(ROWS)]
    rows = [seen(n, ingress=n + 1, selected=n + 2, egress=n + 3, sequence=n) for n in sent]
    path = folder / "records" / f"hub-1-{number:08}.parquet"
    write(path.with_name(f".{path.name}.tmp"), rows, run="r", node="hub", sequence=number)
    path.with_name(f".{path.name}.tmp").rename(path)


def tables(out: Path) -> dict[str, list[str]]:
    names = ("deliveries", *(table.name for table in TABLES))
    return {name: sorted(map(repr, pq.read_table(out / name).to_pylist())) for name in names}


def require_full(error: OSError, out: Path) -> None:
    assert error.errno == errno.ENOSPC
    assert str(out) in str(error)


def test_a_batch_leaves_the_tables_as_they_were(tmp_path: Path, disk: Path) -> None:
    folder, out = tmp_path / "trace", disk / "out"
    add(folder, 1)
    assert pipeline.run(folder, out).verdict.deliveries == ROWS
    before = tables(out)
    add(folder, 2)
    filler = fill(disk)
    with pytest.raises(OSError, match="No space left on device") as full:
        pipeline.run(folder, out)
    require_full(full.value, out)
    assert tables(out) == before
    filler.unlink()
    assert pipeline.run(folder, out).verdict.deliveries == 2 * ROWS


def test_a_stream_ends_and_goes_on_where_it_was(tmp_path: Path, disk: Path) -> None:
    folder, out = tmp_path / "trace", disk / "out"
    add(folder, 1)
    fillers: list[Path] = []

    def watch(progress: Progress) -> None:
        if progress.rows == ROWS and not fillers:
            fillers.append(fill(disk))
            add(folder, 2)

    with pytest.raises(OSError, match="No space left on device") as full:
        streamed(folder, out, watch, until=2 * ROWS)
    require_full(full.value, out)
    fillers[0].unlink()
    assert streamed(folder, out, watch, until=2 * ROWS) == (2 * ROWS, 2 * ROWS)


def streamed(folder: Path, out: Path, watch: Watch, until: int) -> tuple[int, int]:
    """Records and deliveries of a stream that ends when it has read so many rows."""
    ended = threading.Event()

    def look(progress: Progress) -> None:
        watch(progress)
        if progress.rows >= until:
            ended.set()

    watchdog = threading.Timer(WATCHDOG_S, ended.set)
    watchdog.start()
    try:
        done = pipeline.stream(folder, out, ended=ended, watch=look, every="100ms", refresh="0s")
    finally:
        watchdog.cancel()
    return done.verdict.records, done.verdict.deliveries
