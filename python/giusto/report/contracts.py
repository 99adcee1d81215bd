"""Every contract: what was promised, what was proved, and how much of that was ever used.

A record's `bound_ns` is the promise. The bound is what the broker had proved for the topic, `proved_ns`:
never above the promise, and not known if nobody has said it.
"""

from __future__ import annotations

from typing import Any

from giusto.report.bar import bar, gauge
from giusto.report.markup import Markup, element, joined, paragraph
from giusto.report.table import Column, Row, key, several, table, worst
from giusto.report.verdict import badge
from giusto.report.wording import count, percent, rounded

COLUMNS = (
    "run", "topic", "publisher", "subscriber", "subscription", "deliveries", "with_bound", "violations",
    "uncertain", "misses", "lost", "largest_ns", "bound_ns", "proved_ns", "deadline_ns", "largest_ratio",
    "proved_ratio", "verdict",
)  # fmt: skip
MOST = 60
ORDER = {"violated": 0, "uncertain": 1}


def section(rows: list[Row]) -> Markup:
    """The worst first."""
    if not rows:
        return paragraph("No subscription had a promise or a deadline.", class_="nothing")
    rows = sorted(rows, key=badness)
    shown, more = worst(rows, MOST, "contracts", "nearest to their bounds")
    runs = several(rows)
    columns = [
        Column("contract", lambda row: key(row, runs)),
        Column("arrived", lambda row: count(arrived(row)), arrived),
        Column("lost", lambda row: count(row["lost"]), lambda row: row["lost"] or 0),
        Column("longest", lambda row: rounded(row["largest_ns"]), lambda row: row["largest_ns"] or 0),
        Column("bound", lambda row: rounded(row["proved_ns"]), lambda row: row["proved_ns"] or 0),
        Column("promise", lambda row: rounded(row["bound_ns"]), lambda row: row["bound_ns"] or 0),
        Column("longest of the bound", used, lambda row: (ratio(row) or (0.0, ""))[0], wide=True),
        Column("violations", violations, lambda row: row["violations"]),
        Column("deadlines missed", misses, lambda row: row["misses"] or 0),
        Column("verdict", lambda row: badge(said(row))),
    ]
    about = paragraph(
        "The promise is what was asked for and granted, and stands; the bound is the longest delay that was "
        "proved to be possible with all that was admitted, the largest of the run. A delivery later than "
        "promised is a violation.",
        class_="about",
    )
    return joined([about, more, table(columns, shown, "Contracts, nearest to their bounds first")])


def badness(row: Row) -> tuple[Any, ...]:
    """What to sort by, worst first."""
    names = (str(row[name]) for name in ("run", "topic", "publisher", "subscriber", "subscription"))
    used, _ = ratio(row) or (0.0, "")
    return ORDER.get(row["verdict"], 2), -used, -(row["misses"] or 0), *names


def arrived(row: Row) -> int:
    """Deliveries that came."""
    return int((row["deliveries"] or 0) - (row["lost"] or 0))


def said(row: Row) -> str:
    """The verdict on a contract; a deadline alone promises nothing."""
    return str(row["verdict"]) if row["with_bound"] else "no promise"


def ratio(row: Row) -> tuple[float, str] | None:
    """The longest as a part of the bound, or of the promise if the bound is not known."""
    if row["proved_ratio"] is not None:
        return row["proved_ratio"], "bound"
    return None if row["largest_ratio"] is None else (row["largest_ratio"], "promise")


def used(row: Row) -> Markup:
    """A bar and its figure; a contract without a promise has a deadline alone."""
    found = ratio(row)
    if found is None:
        return element("span", "nothing arrived" if row["with_bound"] else "a deadline alone", class_="quiet")
    share, term = found
    kind = "bad" if row["violations"] else "warn" if row["uncertain"] or share > 1 else "good"
    figure = percent(share) if term == "bound" else f"{percent(share)} of promise"
    return gauge(bar(share, f"the longest took {percent(share)} of its {term}", kind), figure)


def misses(row: Row) -> str:
    """How many; a dash where none was asked for."""
    return count(row["misses"] if row["deadline_ns"] else None)


def violations(row: Row) -> str:
    """How many, and how many may be."""
    unsure = row["uncertain"] or 0
    return count(row["violations"]) + (f" (+ {count(unsure)} uncertain)" if unsure else "")
