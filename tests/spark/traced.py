"""A trace folder of which every table has rows, with files and rows that cannot be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from records import at_subscriber, seen, write

MS = 1_000_000
FACT = {
    "run": "r", "node": "hub", "at_ns": 1, "input": "twrr", "output": "mtep", "fragment_bytes": 1_024,
    "topics": [
        {"topic": "ward/3/alarm", "weight": 1, "share": 0.5, "guarded": True, "bound_ns": 4 * MS,
         "clients": [{"client": "monitor", "share": 0.5, "flow_share": 0.5}]},
    ],
}  # fmt: skip
# Not at the edge of a slice, where service times are not measured.
T0 = 200 * MS


def sent(at_ms: int, *, ingress_ms: float, **given: Any) -> dict[str, Any]:
    """A record of the broker, by times in ms after T0; its number is when it was sent."""
    times = {
        name: T0 + round(given.pop(f"{name}_ms") * MS)
        for name in ("selected", "egress")
        if f"{name}_ms" in given
    }
    return seen(T0 + at_ms * MS, ingress=T0 + round(ingress_ms * MS), sequence=at_ms, **times, **given)


def trace(folder: Path) -> Path:
    """A trace folder with every kind of file and row: ten good records, one copied, one impossible."""
    bound = {"bound_ns": 5 * MS, "deadline_ns": 4 * MS, "price": 2.0, "penalty": 1.0}
    times = [
        sent(n, ingress_ms=n + 0.01, selected_ms=n + 0.03, egress_ms=n + 0.05, **bound) for n in range(7)
    ]
    # The next one waits while this one is served.
    times.append(sent(7, ingress_ms=7.01, selected_ms=9.5, egress_ms=9.75, **bound))
    # 7 ms after it was sent, when 5 ms were promised.
    times.append(sent(8, ingress_ms=9, selected_ms=14, egress_ms=15, **bound))
    lost = sent(9, ingress_ms=9.01, outcome="policed", subscriber=None, subscription=None)
    impossible = sent(20, ingress_ms=21, selected_ms=20, egress_ms=22, **bound)
    first = write(
        folder / "records" / "hub-1-00000001.parquet",
        [*times, lost, impossible, times[0]],
        run="r",
        node="hub",
        sequence=1,
    )
    ends = [at_subscriber(T0 + n * MS, T0 + n * MS + MS // 10, sequence=n) for n in range(4)]
    write(folder / "records" / "nurse-1-00000001.parquet", ends, run="r", node="nurse", sequence=1)
    shutil.copy(first, first.with_name("hub-1-copy.parquet"))
    whole = first.read_bytes()
    first.with_name("hub-1-00000002.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "manifest").mkdir()
    (folder / "manifest" / "hub-1.jsonl").write_text(
        '{"event": "dropped", "rows": 3, "reason": "ring"}\n{"event": "dropped", "rows": 2, "reason": "ri'
    )
    (folder / "facts").mkdir()
    (folder / "facts" / "hub-1-00000001.json").write_text(json.dumps(FACT))
    return folder
