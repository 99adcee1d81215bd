"""What a task writes of its files: one file, or nothing if it fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.spark.records import seen, write

from giusto.pipeline import filewise
from giusto.pipeline.tables.files import Inspector

NONE = np.zeros(0, np.int64)


def files(folder: Path, count: int) -> list[filewise.Stretch]:
    """Files with some rows each: nine came, one did not."""
    paths = []
    for n in range(count):
        rows = [seen(at, ingress=at + 1, selected=at + 2, egress=at + 3, sequence=at) for at in range(9)]
        rows.append(seen(9, ingress=10, selected=11, outcome="expired", sequence=9))
        rows = [{**row, "topic": f"topic/{n}"} for row in rows]
        paths.append(write(folder / f"{n}.parquet", rows))
    return filewise.stretches_of(Inspector().inspect(paths).good)


def places(folder: Path) -> tuple[Path, Path]:
    """Where deliveries go, and where rows of others."""
    found = folder / "deliveries", folder / "aside"
    for place in found:
        place.mkdir()
    return found


def test_small_files_become_one(tmp_path: Path) -> None:
    folder, aside = places(tmp_path)
    (done,) = filewise.written(iter(files(tmp_path / "records", 5)), None, NONE, folder, aside)
    assert done.to_pylist() == [{"rows": 50}]
    (path,) = folder.iterdir()
    assert not list(aside.iterdir())
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(n).to_pylist() for n in range(file.num_row_groups)]
    (rows,) = groups
    found = sorted((row["topic"], row["sequence"], row["outcome"]) for row in rows)
    wanted = [(at, "delivered") for at in range(9)] + [(9, "expired")]
    assert found == [(f"topic/{n}", *each) for n in range(5) for each in wanted]


def test_many_rows_are_written_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filewise, "ENOUGH_ROWS", 20)
    folder, aside = places(tmp_path)
    list(filewise.written(iter(files(tmp_path / "records", 5)), None, NONE, folder, aside))
    (path,) = folder.iterdir()
    found = pq.read_metadata(path)
    assert [found.row_group(n).num_rows for n in range(found.num_row_groups)] == [20, 20, 10]


def test_a_task_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filewise, "ENOUGH_ROWS", 1)
    stretches = files(tmp_path / "records", 3)
    Path(stretches[-1].path).write_bytes(b"PAR1")
    folder, aside = places(tmp_path)
    with pytest.raises(ValueError, match="Parquet"):
        list(filewise.written(iter(stretches), None, NONE, folder, aside))
    assert not list(folder.iterdir())
