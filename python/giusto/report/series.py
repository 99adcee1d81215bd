"""Which latencies are drawn: the worst subscriptions, over all their windows, from histograms that add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from giusto.pipeline.tables.histogram import midpoint_of
from giusto.report.table import Row

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ("run", "topic", "subscriber", "subscription")
COLUMNS = (*KEYS, "window_start_ns", "count", "max_ns", "histogram", "bound_ns", "deadline_ns")
MOST = 12
MOST_POINTS = 100


@dataclass(frozen=True)
class Series:
    """The latencies of one subscription on one topic; `span_ns` is when windows of its run begin."""

    row: Row
    windows: tuple[Row, ...]
    span_ns: tuple[int, int]

    @property
    def histogram(self) -> Counter[int]:
        """All windows together."""
        return added(window["histogram"] for window in self.windows)


@dataclass(frozen=True)
class Point:
    """Some windows that follow each other."""

    start_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int


def chosen(
    table: pa.Table, proved: Mapping[tuple[Any, Any], int] | None = None, most: int = MOST
) -> tuple[list[Series], int]:
    """The worst subscriptions, and how many there are: those nearest to their promises before the others.

    `proved` are the bounds of topics, by run and topic, where they are known.
    """
    sums = [("count", "sum"), *((name, "max") for name in ("max_ns", "bound_ns", "deadline_ns"))]
    grouped = table.group_by(list(KEYS)).aggregate(sums)
    names = {"count_sum": "count", **{f"{name}_max": name for name, how in sums if how == "max"}}
    rows = [{names.get(key, key): value for key, value in row.items()} for row in grouped.to_pylist()]
    for row in rows:
        bound_ns = (proved or {}).get((row["run"], row["topic"]))
        row["proved_ns"] = bound_ns if row["bound_ns"] else None
    found = sorted(rows, key=badness)[:most]
    span_ns = spans(table)
    return [Series(row, windows(table, row), span_ns[row["run"]]) for row in found], len(rows)


def spans(table: pa.Table) -> dict[str | None, tuple[int, int]]:
    """When the first and the last window of each run begin."""
    start = "window_start_ns"
    grouped = table.group_by("run").aggregate([(start, "min"), (start, "max")]).to_pylist()
    return {row["run"]: (row[f"{start}_min"], row[f"{start}_max"]) for row in grouped}


def badness(row: Row) -> tuple[Any, ...]:
    """What to sort by, worst first: share of the promise, then of the deadline, then the longest delay."""
    terms = [row["bound_ns"], row["deadline_ns"]]
    kind = next((place for place, term in enumerate(terms) if term), 2)
    size = row["max_ns"] or 0
    return kind, -size / (terms[kind] if kind < 2 else 1), *(str(row[key]) for key in KEYS)


def windows(table: pa.Table, row: Row) -> tuple[Row, ...]:
    """The windows of one subscription, in their order."""
    import pyarrow.compute as pc

    tests = [
        pc.is_null(table[key]) if row[key] is None else pc.fill_null(pc.equal(table[key], row[key]), False)
        for key in KEYS
    ]
    found = table.filter(reduce(pc.and_, tests)).to_pylist()
    for window in found:
        window["histogram"] = dict(window["histogram"] or ())
    return tuple(sorted(found, key=lambda window: window["window_start_ns"]))


def points(series: Series, most: int = MOST_POINTS) -> list[Point]:
    """The windows as points in time; if there are too many, so many of them together as there must be."""
    together = -(-len(series.windows) // most)
    starts = range(0, len(series.windows), together)
    return [_point(series.windows[start : start + together]) for start in starts]


def _point(some: Sequence[Row]) -> Point:
    counts = added(window["histogram"] for window in some)
    most = max(window["max_ns"] for window in some)
    p50_ns, p99_ns = (min(quantile(counts, share), most) for share in ((1, 2), (99, 100)))
    return Point(some[0]["window_start_ns"], p50_ns, p99_ns, most)


def added(histograms: Iterable[Mapping[int, int]]) -> Counter[int]:
    """Counts of all of them."""
    whole: Counter[int] = Counter()
    for histogram in histograms:
        whole.update(histogram)
    return whole


def quantile(counts: Mapping[int, int], share: tuple[int, int]) -> int:
    """The value that `share` of all values do not exceed, within 1 %; 0 without values."""
    wanted = -(-sum(counts.values()) * share[0] // share[1])
    for index, found in sorted(counts.items()):
        wanted -= found
        if wanted <= 0:
            return midpoint_of(index)
    return 0
