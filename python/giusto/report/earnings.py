"""What deliveries were worth: prices of those in time less the penalties of the others."""

from __future__ import annotations

from typing import Any

from giusto.report.bar import bar, gauge
from giusto.report.markup import Markup, element, joined, name, paragraph
from giusto.report.table import Column, Row, key, several, table, worst
from giusto.report.wording import DASH, count, number, percent

COLUMNS = (
    "run", "node", "policy", "subscriber", "subscription", "topic", "ideal", "valid", "late_or_lost",
    "earning", "ideal_earning", "success_rate",
)  # fmt: skip
MOST = 40
ENDED = "A row is of the broker where deliveries ended: what was lost on the way stands where it was lost."


def section(rows: list[Row]) -> Markup:
    """The total, then subscriptions, those that lost most first."""
    if not rows:
        return paragraph("No subscription set a price or a penalty.", class_="nothing")
    rows = sorted(rows, key=badness)
    shown, more = worst(rows, MOST, "subscriptions", "that lost most")
    runs = several(rows)
    columns = [
        Column("subscription", lambda row: key(row, runs)),
        Column("broker", lambda row: name(row["node"])),
        *policy(rows),
        Column("in time", lambda row: count(row["valid"]), lambda row: row["valid"]),
        Column("late or lost", lambda row: count(row["late_or_lost"]), lambda row: row["late_or_lost"]),
        Column("earned", lambda row: number(row["earning"]), lambda row: row["earning"] or 0),
        Column("at most", lambda row: number(row["ideal_earning"]), ideal),
        Column("success", success, lambda row: row["success_rate"] or 0, wide=True),
    ]
    about = [paragraph(ENDED, class_="about")] if len({row["node"] for row in rows}) > 1 else []
    caption = "Earnings, those that lost most first"
    return joined([total(rows), *about, more, table(columns, shown, caption)])


def policy(rows: list[Row]) -> list[Column]:
    """Which policy scheduled them, where that is known of any."""
    if all(row["policy"] is None for row in rows):
        return []
    return [Column("policy", lambda row: DASH if row["policy"] is None else name(row["policy"]))]


def ideal(row: Row) -> float:
    return float(row["ideal_earning"] or 0)


def badness(row: Row) -> tuple[Any, ...]:
    """What to sort by: the difference to the ideal, largest first."""
    names = (str(row[name]) for name in ("run", "node", "policy", "topic", "subscriber", "subscription"))
    return (row["earning"] or 0) - ideal(row), *names


def total(rows: list[Row]) -> Markup:
    """All subscriptions together."""
    earned, possible = sum(row["earning"] or 0 for row in rows), sum(map(ideal, rows))
    valid, wanted = sum(row["valid"] or 0 for row in rows), sum(row["ideal"] or 0 for row in rows)
    rate = f", {percent(valid / wanted)} of {count(wanted)} deliveries in time" if wanted else ""
    return paragraph(element("strong", number(earned)), f" earned of {number(possible)}{rate}.")


def success(row: Row) -> Markup:
    """How many of the deliveries that there should have been came in time."""
    rate = row["success_rate"]
    if rate is None:
        return element("span", "nothing was due", class_="quiet")
    words = f"{percent(rate)} of {count(row['ideal'])} came in time"
    return gauge(bar(rate, words, "plain"), percent(rate))
