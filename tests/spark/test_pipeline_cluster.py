"""The command and the source on a real cluster: a master and two workers, which get giusto from a driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from cluster import cluster
from on_cluster import SETTINGS
from records import seen, write
from retaining import Retaining, publish
from topics import numbers

from giusto import pipeline
from giusto.pipeline.tables.catalog import TABLES

pytestmark = [pytest.mark.spark, pytest.mark.long]

PROGRAM = Path(__file__).parent / "on_cluster.py"
MS = 1_000_000


def tables(out: Path) -> dict[str, list[str]]:
    """The rows of every table, in an order of their own."""
    names = ("deliveries", *(table.name for table in TABLES))
    return {name: sorted(map(repr, pq.read_table(out / name).to_pylist())) for name in names}


def said_by(*words: str) -> Any:
    """What a program prints as JSON."""
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
    trace, out = str(tmp_path / "trace"), str(tmp_path / "out")
    settings = [word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")]
    command = ["-m", "giusto", "pipeline", "run", "--records", trace, "--out", out, "--json", *settings]
    with cluster(tmp_path / "cluster") as master, Retaining(tmp_path, patterns="ward/#") as broker:
        verdict = said_by(*command, "--master", master)
        # Each worker has a folder for what it did for the command.
        assert len(list((tmp_path / "cluster").glob("worker-*/work/app-*"))) == 2
        publish(broker.address, "ward/3", numbers(0, 1_000))
        said = said_by(str(PROGRAM), master, broker.address)
    assert said["workers"] == 2
    # Each worker has a copy of its own, in the folder of the application.
    assert all(str(tmp_path / "cluster" / "worker-") in place for place in said["places"])
    assert all("giusto-code/giusto/_core" in place for place in said["places"])
    assert said["rows"] == [[n, str(n)] for n in range(1_000)]
    here = pipeline.run(trace, tmp_path / "here")
    assert tables(tmp_path / "out") == tables(here.out)
    assert verdict["violations"] == here.verdict.violations == 200
