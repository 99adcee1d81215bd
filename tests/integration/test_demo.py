"""The demo that a newcomer types first: it runs, and every promise in it is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_every_promise_of_the_demo_is_kept() -> None:
    run = subprocess.run([sys.executable, str(DEMO)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count(" kept ") == 4
    assert "broken" not in run.stdout
