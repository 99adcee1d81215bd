"""The example of policies written in Python runs, and its policies do what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_policy.py"


def test_policies_written_in_python_stand_beside_those_of_the_core() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("│")[1:-1] for line in done.stdout.splitlines() if line.startswith("│")]
    earning = {row[0].strip(): float(row[-1].replace(",", "")) for row in rows}
    assert earning["Worth, written here"] > earning["fifo"]
