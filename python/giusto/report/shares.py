"""Whether every flow got the part of the processor that was allotted to it, while it had work waiting.

What is under contract is served before the rest: each class is a whole of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from giusto.report.bar import bar
from giusto.report.markup import Markup, joined, name, paragraph
from giusto.report.table import Column, Row, key, several, table, worst
from giusto.report.wording import count, percent

COLUMNS = (
    "run", "node", "topic", "client", "window_start_ns", "guarded", "quanta", "allotted_flow", "backlogged",
)  # fmt: skip
KEYS = ("run", "node", "topic", "client", "guarded")
CLASSES = {True: "under contract", False: "the rest", None: "not known"}
MOST = 40


@dataclass(frozen=True)
class Window:
    """What one client's flow got in one window, of all quanta of its class, and what was allotted to it."""

    quanta: int
    all_quanta: int
    allotted: float | None
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
        Column("class", lambda row: CLASSES[row["guarded"]]),
        Column("quanta", lambda row: count(row["quanta"]), lambda row: row["quanta"]),
        Column("share", lambda row: percent(row["share"]), lambda row: row["share"]),
        Column("allotted", lambda row: percent(row["allotted"]), lambda row: row["allotted"] or 0),
        Column("share against allotment", lambda row: drawn(row, scale), lambda row: row["share"], wide=True),
        Column("windows waiting", waiting, lambda row: row["backlogged"]),
    ]
    about = paragraph(
        "Shares are of all quanta that the broker served of the same class: what is under contract comes "
        "before the rest. The tick is what was allotted. A flow that had nothing waiting may get less than "
        "that, and what it leaves goes to others; a flow that waited should reach its tick.",
        class_="about",
    )
    return joined([about, more, table(columns, shown, "Flows that waited and got least first")])


def summed(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """One row for each flow and class: over the windows in which it had work waiting, or all if none."""
    order = sorted(rows, key=lambda row: tuple(str(row[name]) for name in KEYS))
    wholes: Counter[tuple[Any, ...]] = Counter()
    for row in order:
        wholes[_whole(row)] += row["quanta"] or 0
    by_flow = groupby(order, lambda row: tuple(row[name] for name in KEYS))
    return [_flow(list(some), wholes) for _, some in by_flow]


def _flow(rows: list[Row], wholes: Mapping[tuple[Any, ...], int]) -> dict[str, Any]:
    windows = [_window(row, wholes) for row in rows]
    waited = [window for window in windows if window.backlogged]
    counted = waited or windows
    # Where some windows have no allotment, both are of the others, so that they can be compared.
    known = [window for window in counted if window.allotted is not None]
    compared = known or counted
    whole = sum(window.all_quanta for window in compared)
    due = sum((window.allotted or 0.0) * window.all_quanta for window in compared)
    return {
        **{name: rows[0][name] for name in KEYS},
        "quanta": sum(window.quanta for window in windows),
        "share": sum(window.quanta for window in compared) / whole if whole else 0.0,
        "allotted": due / whole if known and whole else None,
        "windows": len(windows),
        "backlogged": len(waited),
    }


def _window(row: Row, wholes: Mapping[tuple[Any, ...], int]) -> Window:
    return Window(row["quanta"] or 0, wholes[_whole(row)], row["allotted_flow"], bool(row["backlogged"]))


def _whole(row: Row) -> tuple[Any, ...]:
    """What a share is a part of."""
    return row["run"], row["node"], row["window_start_ns"], bool(row["guarded"])


def badness(row: Row) -> tuple[Any, ...]:
    """What to sort by: who waited and got least of its allotment first, then who got most."""
    waited = row["backlogged"] > 0
    reached = row["share"] / row["allotted"] if row["allotted"] else math.inf
    return not waited, reached if waited else 0.0, -row["share"], *(str(row[name]) for name in KEYS)


def drawn(row: Row, scale: float) -> Markup:
    """A bar with a tick."""
    words = f"{percent(row['share'])} of its class; allotted {percent(row['allotted'])}"
    tick = None if row["allotted"] is None else row["allotted"] / scale
    return bar(row["share"] / scale, words, "plain" if row["backlogged"] else "faint", tick)


def waiting(row: Row) -> str:
    """In how many windows the flow had work waiting."""
    return f"{count(row['backlogged'])} of {count(row['windows'])}"
