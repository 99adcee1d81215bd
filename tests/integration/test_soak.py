"""A short soak with real processes: contracts hold beside a flood, a stalled subscriber, a broken offer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WATCHDOG_S = 240.0


@pytest.fixture(scope="module")
def soak(tmp_path_factory: pytest.TempPathFactory, seed: int) -> dict[str, Any]:
    """The figures of ten seconds; a miss that no stall of the machine explains ends it with status 1."""
    path = tmp_path_factory.mktemp("soak") / "soak.json"
    options = ["--minutes", "0.17", "--rate", "1500", "--calibration", "defaults", "--seed", str(seed)]
    command = [sys.executable, "-m", "benchmarks.soak", *options, "--json", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return dict(json.loads(path.read_text()))


def test_no_miss_is_ours(soak: dict[str, Any]) -> None:
    assert soak["contracts"]
    assert [row for row in soak["contracts"] if row["ours"]] == []


def test_every_contract_has_a_bound_within_its_promise_and_got_messages(soak: dict[str, Any]) -> None:
    for row in soak["contracts"]:
        assert 0 < row["broker_bound_ns"] < row["bound_ns"] <= row["promise_ns"]
        assert row["messages"] > 0
        assert 0 < row["p50_ns"] <= row["p99_ns"] <= row["max_ns"]


def test_the_broker_was_under_fire(soak: dict[str, Any]) -> None:
    assert soak["flooded"] > 0
    assert soak["turned_away"] > soak["policed"]
    assert 0 < soak["load"] <= 1
