"""A short calibration of the machine that the tests run on, with the command that people use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from giusto.guarantee import calibration, machine

# Not a limit on speed: a command that never ends must not stop the test run.
WATCHDOG = 120


def calibrate(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "giusto", "calibrate", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=WATCHDOG)


def test_a_short_calibration_can_be_loaded_and_is_what_was_printed(tmp_path: Path) -> None:
    done = calibrate("--seconds", "1", "--percentile", "99", "--json", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads((tmp_path / "calibration.json").read_text())
    found = calibration.read(tmp_path / "calibration.json")
    assert found.machine == machine.this_machine()
    assert "p99 at 95 %" in found.costs.basis
    assert found.costs.serve_ns(64, 0) < found.costs.serve_ns(64, 1) < found.costs.serve_ns(1 << 20, 64)


def test_a_person_gets_a_table(tmp_path: Path) -> None:
    done = calibrate("--seconds", "0.5", "--output", "mine.json", folder=tmp_path)
    assert done.returncode == 0
    assert "T_q 16" in done.stdout
    assert 'calibration = "mine.json"' in done.stdout
    assert calibration.load(tmp_path / "mine.json").stall_ns > 0


def test_wrong_options_end_with_a_usage_error_and_write_nothing(tmp_path: Path) -> None:
    done = calibrate("--percentile", "100", folder=tmp_path)
    assert done.returncode == 2
    assert "--percentile = 100.0" in done.stderr
    assert list(tmp_path.iterdir()) == []
