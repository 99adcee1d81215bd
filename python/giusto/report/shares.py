"""Whether everybody got the part of the processor that was allotted to it, while it had work waiting."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from giusto.report.bar import bar
from giusto.report.markup import Markup, joined, name, paragraph
from giusto.report.table import Column, Row, key, several, table, worst
from giusto.report.wording import count, percent

COLUMNS = (
    "run", "node", "topic", "client", "window_start_ns", "served", "share", "allotted_topic",
    "allotted_client", "backlogged",
)  # fmt: skip
KEYS = ("run", "node", "topic", "client")
MOST = 40


@dataclass(frozen=True)
class Window:
    """What one client's flow got in one window."""

    served: float
    all_served: float
    backlogged: bool


def section(rows: list[Row]) -> Markup:
    """A row for each flow, those that waited first."""
    if not rows:
        return paragraph("Nothing was served.", class_="nothing")
    flows = sorted(summed(rows), key=badness)
    shown, more = worst(flows, MOST, "flows", "first")
    runs = several(flows)
    scale = max((value for row in flows for value in (row["share"], row["allotted"]) if value), default=1.0)
    columns = [
        Column("flow", lambda row: key(row, runs)),
        Column("broker", lambda row: name(row["node"])),
        Column("served", lambda row: count(row["served"]), lambda row: row["served"]),
        Column("share", lambda row: percent(row["share"]), lambda row: row["share"]),
        Column("allotted", lambda row: percent(row["allotted"]), lambda row: row["allotted"] or 0),
        Column("share against allotment", lambda row: drawn(row, scale), lambda row: row["share"], wide=True),
        Column("windows with work waiting", waiting, lambda row: row["backlogged"]),
    ]
    about = paragraph(
        "The tick is what was allotted. A flow that had nothing waiting may get less than that, and what it "
        "leaves goes to others; a flow that waited should reach its tick.",
        class_="about",
    )
    return joined([about, more, table(columns, shown, "Flows that waited and got least first")])


def summed(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """One row for each flow: over the windows in which it had work waiting, or all if there were none."""
    order = sorted(rows, key=lambda row: tuple(str(row[name]) for name in KEYS))
    return [_flow(list(some)) for _, some in groupby(order, lambda row: tuple(row[name] for name in KEYS))]


def _flow(rows: list[Row]) -> dict[str, Any]:
    windows = [_window(row) for row in rows]
    waited = [window for window in windows if window.backlogged]
    counted = waited or windows
    whole = sum(window.all_served for window in counted)
    return {
        **{name: rows[0][name] for name in KEYS},
        "served": sum(window.served for window in windows),
        "share": sum(window.served for window in counted) / whole if whole else 0.0,
        "allotted": next((row["allotted_client"] for row in rows if row["allotted_client"]), None),
        "topic_share": next((row["allotted_topic"] for row in rows if row["allotted_topic"]), None),
        "windows": len(windows),
        "backlogged": len(waited),
    }


def _window(row: Row) -> Window:
    served = row["served"] or 0
    return Window(served, served / row["share"] if row["share"] else 0.0, bool(row["backlogged"]))


def badness(row: Row) -> tuple[Any, ...]:
    """What to sort by: who waited and got least of its allotment first, then who got most."""
    waited = row["backlogged"] > 0
    reached = row["share"] / row["allotted"] if row["allotted"] else math.inf
    return not waited, reached if waited else 0.0, -row["share"], *(str(row[name]) for name in KEYS)


def drawn(row: Row, scale: float) -> Markup:
    """A bar with a tick."""
    words = f"{percent(row['share'])} of what was served; allotted {percent(row['allotted'])}"
    tick = None if row["allotted"] is None else row["allotted"] / scale
    return bar(row["share"] / scale, words, "plain" if row["backlogged"] else "faint", tick)


def waiting(row: Row) -> str:
    """In how many windows the flow had work waiting."""
    return f"{count(row['backlogged'])} of {count(row['windows'])}"
