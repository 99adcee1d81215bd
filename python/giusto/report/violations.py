"""Every delivery that was later than its bound, with where its time went."""

from __future__ import annotations

from typing import Any

from giusto.report.bar import gauge, stacked
from giusto.report.markup import Markup, element, joined, paragraph
from giusto.report.table import Column, Row, key, several, table
from giusto.report.wording import count, percent, rounded, span

PARTS = {
    "network_in_ns": "to the broker",
    "queue_ns": "waiting",
    "service_ns": "service",
    "egress_ns": "leaving",
    "network_out_ns": "to the subscriber",
}
COLUMNS = (
    "run", "topic", "publisher", "subscriber", "subscription", "sequence", "t_sent_ns", "observed_ns",
    "bound_ns", "over_ns", *PARTS,
)  # fmt: skip
MOST = 200


def section(rows: list[Row]) -> Markup:
    """The farthest beyond their bounds first."""
    if not rows:
        return paragraph("No delivery was later than its bound.", class_="nothing")
    rows = sorted(rows, key=badness)
    shown, more, runs, start_ns = rows[:MOST], Markup(), several(rows), earliest(rows)
    if len(rows) > MOST:
        text = f"The {MOST} farthest beyond their bounds are shown; there are {count(len(rows) - MOST)} more."
        more = paragraph(text, class_="more")
    columns = [
        Column("delivery", lambda row: key(row, runs, f" · message {row['sequence']}")),
        Column("after", lambda row: rounded(sent(row) - start_ns), sent),
        Column("took", lambda row: rounded(row["observed_ns"]), lambda row: row["observed_ns"]),
        Column("bound", lambda row: rounded(row["bound_ns"]), lambda row: row["bound_ns"]),
        Column("over by", lambda row: rounded(row["over_ns"]), lambda row: row["over_ns"]),
        Column("where the time went", where, lambda row: row["observed_ns"], wide=True),
    ]
    caption = "Violations; “after” counts from the first of them"
    return joined([more, legend(), table(columns, shown, caption)])


def earliest(rows: list[Row]) -> int:
    """When the first was sent."""
    return min(sent(row) for row in rows)


def sent(row: Row) -> int:
    return int(row["t_sent_ns"] or 0)


def badness(row: Row) -> tuple[Any, ...]:
    """What to sort by, worst first."""
    names = (str(row[name]) for name in ("run", "topic", "publisher", "subscriber", "subscription"))
    return -(row["over_ns"] or 0), sent(row), row["sequence"] or 0, *names


def where(row: Row) -> Markup:
    """The parts as one bar, and the largest in words."""
    sizes = {name: max(0, row[name] or 0) for name in PARTS}
    whole = sum(sizes.values())
    if not whole:
        return element("span", "its parts are not known", class_="quiet")
    said = ", ".join(f"{PARTS[name]} {span(size)}" for name, size in sizes.items() if size)
    largest = max(sizes, key=lambda name: sizes[name])
    words = f"{PARTS[largest]} {percent(sizes[largest] / whole)}"
    drawn = stacked([(name.removesuffix("_ns"), size) for name, size in sizes.items()], said)
    return gauge(drawn, words)


def legend() -> Markup:
    """What the parts are, in the order in which they stand in a bar."""
    keys = (
        element("li", element("span", "", class_=f"key {name.removesuffix('_ns')}"), words)
        for name, words in PARTS.items()
    )
    return element("ul", *keys, class_="legend")
