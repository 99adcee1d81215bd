"""Folders of tables as `giusto pipeline run` writes them, small and made up, the same every time.

They have no column that the tables do not have: tests/spark/test_pipeline_once.py compares them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from giusto.pipeline.tables.histogram import bucket_of

MS = 1_000_000
SECOND = 1_000_000_000
START = 5_000 * SECOND
FLOWS = (
    ("ward/3/alarm", "monitor", "station", 20 * MS, 50 * MS, 300_000, 0.5),
    ("ward/3/infusion", "pump", "station", 50 * MS, None, 220_000, 0.4),
    ("ward/3/vitals", "monitor", "archive", None, 200 * MS, 900_000, 0.7),
    ("ward/3/images", "scanner", "archive", None, None, 4_000_000, 0.9),
)
PROVED = {"ward/3/alarm": 16 * MS}
"""What the broker said; nobody said anything of the others."""
Rows = list[dict[str, Any]]


def latencies(median: float, spread: float, size: int, chance: random.Random) -> list[int]:
    return [round(median * chance.lognormvariate(0, spread)) for _ in range(size)]


def window(flow: tuple[Any, ...], number: int, size: int, chance: random.Random) -> dict[str, Any]:
    topic, _, subscriber, bound, deadline, median, spread = flow
    found = sorted(latencies(median * (3 if 8 <= number < 13 else 1), spread, size, chance))
    at = lambda share: found[int(share * (len(found) - 1))]  # noqa: E731
    return {
        "run": "ward-3", "topic": topic, "subscriber": subscriber, "subscription": 1,
        "window_start_ns": START + number * SECOND, "count": size, "rate_hz": float(size),
        "p50_ns": at(0.5), "p90_ns": at(0.9), "p95_ns": at(0.95), "p99_ns": at(0.99), "p99_9_ns": at(0.999),
        "p99_99_ns": at(0.9999), "max_ns": found[-1], "mean_ns": sum(found) // size,
        "histogram": list(Counter(map(bucket_of, found)).items()), "bound_ns": bound, "deadline_ns": deadline,
    }  # fmt: skip


def audit(flow: tuple[Any, ...], largest: int, deliveries: int) -> dict[str, Any]:
    topic, publisher, subscriber, bound, deadline, *_ = flow
    ratio = largest / bound if bound else None
    return {
        "run": "ward-3", "topic": topic, "publisher": publisher, "subscriber": subscriber, "subscription": 1,
        "deliveries": deliveries, "with_bound": deliveries if bound else 0,
        "violations": (largest - bound) // MS if ratio and ratio > 1 else 0, "uncertain": 0,
        "misses": 0 if deadline is None or largest < deadline else 2, "lost": 0, "largest_ns": largest,
        "bound_ns": bound, "deadline_ns": deadline, "largest_ratio": ratio,
        "proved_ns": PROVED.get(topic), "proved_ratio": largest / PROVED[topic] if topic in PROVED else None,
        "verdict": "no bound" if ratio is None else "violated" if ratio > 1 else "held",
    }  # fmt: skip


def violation(number: int, flow: tuple[Any, ...]) -> dict[str, Any]:
    topic, publisher, subscriber, bound, *_ = flow
    over = (number + 1) * MS
    whole = bound + over
    return {
        "run": "ward-3", "topic": topic, "publisher": publisher, "subscriber": subscriber, "subscription": 1,
        "sequence": 100 + number, "t_sent_ns": START + number * SECOND, "observed_ns": whole,
        "bound_ns": bound, "over_ns": over, "network_in_ns": whole // 20, "queue_ns": whole * 7 // 10,
        "service_ns": whole // 20, "egress_ns": whole // 10, "network_out_ns": whole // 10, "wall_ns": None,
    }  # fmt: skip


def others() -> dict[str, Rows]:
    """Tables that need no figures of the others."""
    losses = [
        {"run": "ward-3", "node": "broker", "topic": topic, "publisher": who, "subscriber": None,
         "outcome": why, "count": number, "first_ns": START, "last_ns": START + SECOND}
        for topic, who, why, number in (
            ("ward/3/images", "scanner", "policed", 48_211), ("ward/3/backup", "flooder", "overflow", 9_120),
            ("ward/3/vitals", "monitor", "expired", 12),
        )
    ]  # fmt: skip
    shares = [
        {"run": "ward-3", "node": "broker", "topic": topic, "client": who,
         "window_start_ns": START + at * SECOND, "guarded": who == "monitor", "served": served,
         "quanta": served, "allotted_flow": share, "allotted_topic": share, "allotted_client": share,
         "backlogged": waited}
        for at in range(4)
        for topic, who, served, share, waited in (
            ("ward/3/alarm", "monitor", 500, 0.4, False), ("ward/3/infusion", "pump", 100, 0.2, False),
            ("ward/3/images", "scanner", 900, 0.3, True), ("ward/3/backup", "flooder", 500, None, True),
        )
    ]  # fmt: skip
    earnings = [
        {"run": "ward-3", "node": "broker", "subscriber": "station", "subscription": 1, "topic": topic,
         "ideal": ideal, "valid": valid, "late_or_lost": ideal - valid, "price_sum": 2.0 * ideal,
         "penalty_sum": float(ideal), "earning": 2.0 * valid - (ideal - valid), "ideal_earning": 2.0 * ideal,
         "success_rate": valid / ideal, "policy": "mtep"}
        for topic, ideal, valid in (("ward/3/alarm", 10_000, 10_000), ("ward/3/vitals", 20_000, 19_400))
    ]  # fmt: skip
    links = [
        {"run": "ward-3", "source": "broker", "target": who, "count": 10_000, "mean_ns_per_kb": mean,
         "variance": mean * mean / 9, "skewness": 0.2, "excess_kurtosis": 0.1, "normal": fits,
         "normal_p": 0.4 if fits else 0.0, "mean_ns": mean / 8, "least_ns": round(mean / 3),
         "largest_ns": round(mean * 2), "since_ns": START, "until_ns": START + SECOND}
        for who, mean, fits in (("station", 41_000.0, True), ("archive", 120_000.0, False))
    ]  # fmt: skip
    envelopes = [
        {"run": "ward-3", "publisher": who, "topic": topic, **point, "min_sep_ns": 2 * MS, "kept": not broken,
         "closer": broken, "count": 5_000, "since_ns": START, "until_ns": START + SECOND}
        for topic, who, burst, broken in (
            ("ward/3/alarm", "monitor", 1, 0), ("ward/3/images", "scanner", 900, 48_211)
        )
        for rate in (100.0, 200.0, 500.0, 1_000.0, 2_000.0) for point in points(rate, burst)
    ]  # fmt: skip
    quanta = [
        {"run": "ward-3", "node": "broker", "size_class": size, "fan_out": fan, "count": 4_000,
         "mean_ns": 1_100.0 * fan, "p50_ns": 1_000 * fan, "p99_ns": (2_000 + size) * fan,
         "max_ns": 40_000 * fan}
        for size in (128, 1_024, 8_192) for fan in (1, 4)
    ]  # fmt: skip
    return {
        "losses": losses, "shares": shares, "earnings": earnings, "link_model": links,
        "arrival_envelope": envelopes, "quantum": quanta,
    }  # fmt: skip


def points(rate_hz: float, burst: int) -> Rows:
    """A row in messages and one in bytes."""
    sigma = max(1.0, burst * 100 / rate_hz)
    return [
        {"unit": "messages", "rho_hz": rate_hz, "sigma_messages": sigma, "rho_bps": None, "sigma_bytes": None,
         "offered": rate_hz == 500},
        {"unit": "bytes", "rho_hz": None, "sigma_messages": None, "rho_bps": rate_hz * 1_024,
         "sigma_bytes": 128.0 * sigma, "offered": False},
    ]  # fmt: skip


def tables(windows: int = 30, violations: int = 0) -> dict[str, Rows]:
    """All gold tables of a run that held, or that did not."""
    chance = random.Random(6)
    latency = [window(flow, at, 400, chance) for flow in FLOWS for at in range(windows)]
    audits = []
    for flow in FLOWS:
        largest = max((row["max_ns"] for row in latency if row["topic"] == flow[0]), default=0)
        if violations and flow is FLOWS[0]:
            largest = flow[3] + violations * MS
        if flow[3] or flow[4]:
            audits.append(audit(flow, largest, 400 * windows))
    broken = [violation(number, FLOWS[0]) for number in range(violations)]
    return {"topic_latency": latency, "contract_audit": audits, "violations": broken, **others()}


def verdict(made: dict[str, Rows]) -> dict[str, Any]:
    ratios = {
        name: max((row[name] for row in made["contract_audit"] if row[name] is not None), default=None)
        for name in ("largest_ratio", "proved_ratio")
    }
    return {
        "runs": ["ward-3"], "records": 1_261_675,
        "deliveries": sum(row["count"] for row in made["topic_latency"] + made["losses"]),
        "contracts": len(made["contract_audit"]), "violations": len(made["violations"]), "uncertain": 0,
        "misses": sum(row["misses"] for row in made["contract_audit"]),
        **ratios, "written": 1_261_675, "unended": 0,
        "losses": {row["outcome"]: row["count"] for row in made["losses"]},
        "quarantined": {"truncated": 1_204, "received before sent": 3},
        "quarantined_files": {"truncated": 1}, "duplicates": 17, "pending": 0,
        "dropped": {"ring": 0, "sampling": 0}, "started": "2026-01-01T00:00:00Z", "seconds": 12.5,
        "complete": True,
    }  # fmt: skip


HISTOGRAM = pa.map_(pa.int32(), pa.int64())


def arrow(rows: Rows) -> pa.Table:
    """Rows as Spark would type them."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return pa.table({
        name: pa.array(values, HISTOGRAM if name == "histogram" else None) for name, values in columns.items()
    })  # fmt: skip


def write_folder(folder: Path, made: dict[str, Rows], says: dict[str, Any] | None = None) -> Path:
    """The tables as Parquet files below `folder`, and the verdict."""
    for name, rows in made.items():
        (folder / name).mkdir(parents=True)
        found = arrow(rows or sample_row(name))
        pq.write_table(found if rows else found.slice(0, 0), folder / name / "part-00000.parquet")
    (folder / "verdict.json").write_text(json.dumps(says or verdict(made)), encoding="utf-8")
    return folder


def sample_row(name: str) -> Rows:
    """What an empty table has as columns."""
    return [tables(1, 1)[name][0]]
