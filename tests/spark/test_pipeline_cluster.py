"""The pipeline on a real cluster: a master and two workers, which get giusto from the driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cluster import cluster
from records import seen, write

from giusto import pipeline
from giusto.pipeline.tables.catalog import TABLES

pytestmark = [pytest.mark.spark, pytest.mark.long]

PROGRAM = Path(__file__).parent / "on_cluster.py"
MS = 1_000_000


def tables(out: Path) -> dict[str, list[str]]:
    """The rows of every table, in an order of their own."""
    names = ("deliveries", *(table.name for table in TABLES))
    return {name: sorted(map(repr, pq.read_table(out / name).to_pylist())) for name in names}


def test_a_standalone_cluster_makes_the_same_tables_with_code_that_travels(tmp_path: Path) -> None:
    for number in range(2):
        rows = [
            seen(
                n * MS, ingress=n * MS + 10, selected=n * MS + 20, egress=n * MS + 30, sequence=n, bound_ns=25
            )
            for n in range(100 * number, 100 * number + 100)
        ]
        file = tmp_path / "trace" / "records" / f"hub-1-{number + 1:08}.parquet"
        write(file, rows, run="r", node="hub", sequence=number + 1)
    with cluster(tmp_path / "cluster") as master:
        done = subprocess.run(
            [sys.executable, PROGRAM, master, str(tmp_path / "trace"), str(tmp_path / "out")],
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["workers"] == 2
    # Each worker has a copy of its own, in the folder of the application.
    assert all(str(tmp_path / "cluster" / "worker-") in place for place in said["places"])
    assert all("giusto-code/giusto/_core" in place for place in said["places"])
    here = pipeline.run(tmp_path / "trace", tmp_path / "here")
    assert tables(tmp_path / "out") == tables(here.out)
    assert said["verdict"]["violations"] == here.verdict.violations == 200
