"""What the records say afterwards: the Spark pipeline on every delivery, its verdict, and the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from account import excuse, ours
from live import Witness
from rich.console import Console

from giusto.errors import NotInstalled
from giusto.pipeline.prerequisites import require_spark


def possible(console: Console) -> bool:
    """Whether Spark can run here; if not, say what to install."""
    try:
        require_spark()
    except NotInstalled as missing:
        console.print(f"\nThe records are not looked at any further: {missing}. Then run it again.")
        return False
    return True


def audit(console: Console, records: Path, witness: Witness) -> bool:
    """Tables, verdict and report, by the commands that anybody would use; whether the bounds held."""
    tables = records / "tables"
    command(console, "pipeline", "run", "--records", str(records), "--out", str(tables), "--window", "1s")
    over_ms = farthest_ms(tables)
    if over_ms > 0:
        console.print(f"The farthest was {over_ms:.1f} ms above its bound. {excuse(witness)}")
    command(console, "report", str(tables))
    return not ours(over_ms, witness)


def command(console: Console, *words: str) -> None:
    """One `giusto` command, as it would be typed, with what it prints."""
    console.print(f"\n[dim]$[/] [bold]giusto {' '.join(words)}[/]", soft_wrap=True, highlight=False)
    console.file.flush()
    subprocess.run([sys.executable, "-m", "giusto", *words], check=True)


def farthest_ms(tables: Path) -> float:
    """By how much a delivery was later than its bound, at most; 0 if none was."""
    if not json.loads((tables / "verdict.json").read_text("utf-8"))["violations"]:
        return 0.0
    import pyarrow.parquet as pq

    late = pq.read_table(tables / "violations", columns=["over_ns"])["over_ns"].to_pylist()
    return float(max(late, default=0)) / 1e6
