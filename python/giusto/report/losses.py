"""What was lost: deliveries that did not arrive, by reason, and whose they were."""

from __future__ import annotations

from collections import Counter

from giusto.report.bar import bar, gauge
from giusto.report.markup import Markup, element, joined, name, paragraph
from giusto.report.table import Column, Row, key, several, table, worst
from giusto.report.wording import count, percent

COLUMNS = ("run", "node", "topic", "publisher", "subscriber", "outcome", "count")
MOST = 40
REASONS = {
    "policed": "came to the broker sooner than the publisher's offer and the broker's tolerance allow",
    "overflow": "a bounded queue was full, or it was larger than offered",
    "expired": "its timeout or all its deadlines had passed",
    "lost": "sent and never seen again",
}


def section(rows: list[Row]) -> Markup:
    """Reasons, then flows, the largest first."""
    if not rows:
        return paragraph("Nothing was lost.", class_="nothing")
    rows = sorted(rows, key=lambda row: (-row["count"], *(str(row[name]) for name in COLUMNS)))
    shown, more = worst(rows, MOST, "flows", "largest")
    whole = sum(row["count"] for row in rows)
    runs = several(rows)
    columns = [
        Column("flow", lambda row: key(row, runs)),
        Column("broker", lambda row: name(row["node"])),
        Column("reason", lambda row: row["outcome"]),
        Column("messages", lambda row: count(row["count"]), lambda row: row["count"]),
        Column("part of all lost", lambda row: part(row, whole), lambda row: row["count"], wide=True),
    ]
    return joined([reasons(rows), more, table(columns, shown, "What was lost, by flow")])


def reasons(rows: list[Row]) -> Markup:
    """A sentence for each reason."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["outcome"]] += row["count"]
    items = (
        element("li", element("strong", count(found)), f" {reason}: {REASONS.get(reason, 'unknown reason')}")
        for reason, found in sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    )
    return element("ul", *items, class_="plain")


def part(row: Row, whole: int) -> Markup:
    """How much of all that was lost."""
    share = row["count"] / whole if whole else 0.0
    words = f"{percent(share)} of all that was lost"
    return gauge(bar(share, words, "plain"), percent(share))
