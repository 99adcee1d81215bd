"""Every contract, with how much of its bound was ever used."""

from __future__ import annotations

from typing import Any

from giusto.report.bar import bar, gauge
from giusto.report.markup import Markup, element, joined, paragraph
from giusto.report.table import Column, Row, key, several, table, worst
from giusto.report.verdict import badge
from giusto.report.wording import count, percent, rounded

COLUMNS = (
    "run", "topic", "publisher", "subscriber", "subscription", "deliveries", "with_bound", "violations",
    "uncertain", "misses", "lost", "largest_ns", "bound_ns", "largest_ratio", "verdict",
)  # fmt: skip
MOST = 60
ORDER = {"violated": 0, "uncertain": 1}


def section(rows: list[Row]) -> Markup:
    """The worst first."""
    if not rows:
        return paragraph("No subscription had a bound or a deadline.", class_="nothing")
    rows = sorted(rows, key=badness)
    shown, more = worst(rows, MOST, "contracts", "nearest to their bounds")
    runs = several(rows)
    columns = [
        Column("contract", lambda row: key(row, runs)),
        Column("deliveries", lambda row: count(row["deliveries"]), lambda row: row["deliveries"]),
        Column("longest", lambda row: rounded(row["largest_ns"]), lambda row: row["largest_ns"] or 0),
        Column("bound", lambda row: rounded(row["bound_ns"]), lambda row: row["bound_ns"] or 0),
        Column("longest of the bound", used, lambda row: row["largest_ratio"] or 0, wide=True),
        Column("violations", violations, lambda row: row["violations"]),
        Column("lost", lambda row: count(row["lost"]), lambda row: row["lost"] or 0),
        Column("deadlines missed", lambda row: count(row["misses"]), lambda row: row["misses"] or 0),
        Column("verdict", lambda row: badge(said(row))),
    ]
    return joined([more, table(columns, shown, "Contracts, nearest to their bounds first")])


def badness(row: Row) -> tuple[Any, ...]:
    """What to sort by, worst first."""
    names = (str(row[name]) for name in ("run", "topic", "publisher", "subscriber", "subscription"))
    return ORDER.get(row["verdict"], 2), -(row["largest_ratio"] or 0), -(row["misses"] or 0), *names


def said(row: Row) -> str:
    """The verdict on a contract; a deadline alone promises nothing."""
    return str(row["verdict"]) if row["largest_ratio"] is not None else "no bound"


def used(row: Row) -> Markup:
    """A bar and its figure; a contract without a bound has a deadline alone."""
    ratio = row["largest_ratio"]
    if ratio is None:
        return element("span", "has a deadline alone", class_="quiet")
    kind = "bad" if row["violations"] else "warn" if row["uncertain"] else "good"
    words = f"the longest took {percent(ratio)} of its bound"
    return gauge(bar(ratio, words, kind), percent(ratio))


def violations(row: Row) -> str:
    """How many, and how many may be."""
    unsure = row["uncertain"] or 0
    return count(row["violations"]) + (f" (+ {count(unsure)} uncertain)" if unsure else "")
