"""What the records say afterwards: the Spark pipeline on every delivery, its verdict, and the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from account import Fault, explained
from live import Witness
from rich.console import Console

from giusto.errors import NotInstalled
from giusto.pipeline.prerequisites import require_spark

COLUMNS = ["over_ns", "observed_ns", "t_sent_ns"]


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
    faults = [fault_of(row, witness) for row in violations(tables)]
    # The verdict stands; the machine may be the reason for it, if it stood still just then.
    held = explained(console, faults)
    command(console, "report", str(tables))
    return held


def command(console: Console, *words: str) -> None:
    """One `giusto` command, as it would be typed, with what it prints."""
    console.print(f"\n[dim]$[/] [bold]giusto {' '.join(words)}[/]", soft_wrap=True, highlight=False)
    console.file.flush()
    subprocess.run([sys.executable, "-m", "giusto", *words], check=True)


def violations(tables: Path) -> list[dict[str, int]]:
    """When deliveries were sent that were later than their bounds, and by how much."""
    if not json.loads((tables / "verdict.json").read_text("utf-8"))["violations"]:
        return []
    import pyarrow.parquet as pq

    rows: list[dict[str, int]] = pq.read_table(tables / "violations", columns=COLUMNS).to_pylist()
    return rows


def fault_of(row: dict[str, int], witness: Witness) -> Fault:
    """One violation, and for how long the machine stood still while the message was on its way."""
    over_ms = row["over_ns"] / 1e6
    stood_ms = witness.stood_ms(row["t_sent_ns"], row["t_sent_ns"] + row["observed_ns"])
    return Fault(f"A delivery was {over_ms:.1f} ms later than promised", stood_ms, over_ms)
