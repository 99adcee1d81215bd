"""How long `import giusto` takes, beyond the start of the interpreter itself."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

ROUNDS = 15


def time_ms(code: str) -> float:
    """Milliseconds from the start of an interpreter to its end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (time.perf_counter() - start) * 1e3


def report(case: str, value: float, unit: str) -> None:
    """One figure as a line of JSON."""
    print(json.dumps({"bench": "import", "case": case, "value": round(value, 4), "unit": unit}))


def main() -> None:
    """Interleave rounds with and without the import, and report medians."""
    rounds = [(time_ms("pass"), time_ms("import giusto")) for _ in range(ROUNDS)]
    empty = statistics.median(first for first, _ in rounds)
    added = statistics.median(second - first for first, second in rounds)
    report("interpreter alone", empty, "ms")
    report("import giusto, added", added, "ms")


if __name__ == "__main__":
    main()
