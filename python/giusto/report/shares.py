"""Whether flows, topics and clients got what was allotted to them of the processor, while they had work.

What is under contract is served before the rest: each class is a whole of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from giusto.report.bar import bar
from giusto.report.markup import Markup, joined, name, paragraph
from giusto.report.table import Column, Row, key, several, table, worst
from giusto.report.wording import count, percent, plural

COLUMNS = (
    "run", "node", "topic", "client", "window_start_ns", "guarded", "quanta", "allotted_flow",
    "allotted_topic", "allotted_client", "backlogged",
)  # fmt: skip
CLASSES = {True: "under contract", False: "the rest", None: "not known"}
MOST = 40
ENDED = (
    " Only what left a record at a broker counts: in a simulated network, unless hops were recorded, that is "
    "what ended there."
)
NEAR = 1e-9
"""Parts that add up to a whole do so up to this."""


@dataclass(frozen=True)
class Kind:
    """Who has a share: a flow, or all flows of a topic or of a client."""

    noun: str
    names: tuple[str, ...]

    @property
    def allotted(self) -> str:
        """The column that says what its share should be."""
        return f"allotted_{self.noun}"


FLOW = Kind("flow", ("topic", "client"))
TOPIC = Kind("topic", ("topic",))
CLIENT = Kind("client", ("client",))


@dataclass(frozen=True)
class Window:
    """What somebody got in one window, of all quanta of the class, and what was allotted."""

    quanta: int
    all_quanta: int
    allotted: float | None
    backlogged: bool


def section(rows: list[Row]) -> Markup:
    """A row for each flow, those that waited first; then topics and clients of which flows do not tell."""
    if not rows:
        return paragraph("Nothing was served.", class_="nothing")
    about = paragraph(
        "Shares are of all quanta that the broker served of the same class: what is under contract comes "
        "before the rest. The tick is what was allotted. A flow that had nothing waiting may get less than "
        "that, and what it leaves goes to others; a flow that waited should reach its tick."
        + (ENDED if len({row["node"] for row in rows}) > 1 else ""),
        class_="about",
    )
    flows = listed(FLOW, summed(rows, FLOW), "Flows that waited and got least first")
    return joined([about, flows, *(together(kind, rows) for kind in (TOPIC, CLIENT))])


def together(kind: Kind, rows: list[Row]) -> Markup:
    """Topics or clients that waited with all their flows, unless one flow is all that they have."""
    found = [row for row in summed(rows, kind) if row["backlogged"] and row["allotted"] and row["is_more"]]
    caption = f"{plural(kind.noun).capitalize()}, over all their flows, while each of these waited"
    return listed(kind, found, caption) if found else Markup()


def listed(kind: Kind, rows: Sequence[Row], caption: str) -> Markup:
    """Shares beside allotments, those that waited and got least first."""
    order = sorted(rows, key=badness)
    shown, more = worst(order, MOST, plural(kind.noun), "first")
    runs = several(order)
    scale = max((value for row in order for value in (row["share"], row["allotted"]) if value), default=1.0)
    columns = [
        Column(kind.noun, lambda row: whose(kind, row, runs)),
        Column("broker", lambda row: name(row["node"])),
        Column("class", lambda row: CLASSES[row["guarded"]]),
        Column("quanta", lambda row: count(row["quanta"]), lambda row: row["quanta"]),
        Column("share", lambda row: percent(row["share"]), lambda row: row["share"]),
        Column("allotted", lambda row: percent(row["allotted"]), lambda row: row["allotted"] or 0),
        Column("share against allotment", lambda row: drawn(row, scale), lambda row: row["share"], wide=True),
        Column("windows waiting", waiting, lambda row: row["backlogged"]),
    ]
    return joined([more, table(columns, shown, caption)])


def summed(rows: Iterable[Row], kind: Kind) -> list[dict[str, Any]]:
    """One row for each of a kind and class: over the windows in which it waited, or all if none."""
    keys = ("run", "node", *kind.names)
    found = [(tuple(row[name] for name in keys), bool(row["guarded"]), row) for row in rows]
    found.sort(key=lambda each: (*map(str, each[0]), each[1], each[2]["window_start_ns"]))
    wholes: Counter[tuple[Any, ...]] = Counter()
    for _, _, row in found:
        wholes[_whole(row)] += row["quanta"] or 0
    made = []
    for (values, _), some in groupby(found, lambda each: each[:2]):
        own = [row for _, _, row in some]
        made.append({**dict(zip(keys, values, strict=True)), **_sum(own, kind, wholes)})
    return made


def _sum(rows: list[Row], kind: Kind, wholes: Mapping[tuple[Any, ...], int]) -> dict[str, Any]:
    by_window = groupby(rows, lambda row: row["window_start_ns"])
    windows = [_window(list(some), kind, wholes) for _, some in by_window]
    waited = [window for window in windows if window.backlogged]
    counted = waited or windows
    # Where some windows have no allotment, both are of the others, so that they can be compared.
    known = [window for window in counted if window.allotted is not None]
    compared = known or counted
    whole = sum(window.all_quanta for window in compared)
    due = sum((window.allotted or 0.0) * window.all_quanta for window in compared)
    return {
        "guarded": next((row["guarded"] for row in rows if row["guarded"] is not None), None),
        "quanta": sum(window.quanta for window in windows),
        "share": sum(window.quanta for window in compared) / whole if whole else 0.0,
        "allotted": due / whole if known and whole else None,
        "windows": len(windows),
        "backlogged": len(waited),
        "is_more": len(rows) > len(windows) or all(row["allotted_flow"] is None for row in rows),
    }


def _window(rows: list[Row], kind: Kind, wholes: Mapping[tuple[Any, ...], int]) -> Window:
    said = (row[kind.allotted] for row in rows)
    allotted = next((value for value in said if value is not None), None)
    quanta = sum(row["quanta"] or 0 for row in rows)
    return Window(quanta, wholes[_whole(rows[0])], allotted, _is_waiting(rows, allotted))


def _is_waiting(rows: list[Row], allotted: float | None) -> bool:
    """Whether all flows to which something is allotted waited; where that is the topic's, one is enough.

    A flow without a row had nothing: what is allotted to the others is less than the whole then.
    """
    waited = [row["allotted_flow"] for row in rows if row["backlogged"]]
    if allotted is None or all(row["allotted_flow"] is None for row in rows):
        return bool(waited)
    return bool(waited) and sum(value or 0.0 for value in waited) >= allotted - NEAR


def _whole(row: Row) -> tuple[Any, ...]:
    """What a share is a part of."""
    return row["run"], row["node"], row["window_start_ns"], bool(row["guarded"])


def badness(row: Row) -> tuple[Any, ...]:
    """What to sort by: who waited and got least of its allotment first, then who got most."""
    waited = row["backlogged"] > 0
    reached = row["share"] / row["allotted"] if row["allotted"] else math.inf
    names = (str(row.get(name)) for name in ("run", "node", *FLOW.names, "guarded"))
    return not waited, reached if waited else 0.0, -row["share"], *names


def whose(kind: Kind, row: Row, runs: bool) -> Markup:
    """The name of a flow, topic or client."""
    return key(row if kind is FLOW else {"topic": row[kind.noun], "run": row["run"]}, runs)


def drawn(row: Row, scale: float) -> Markup:
    """A bar with a tick."""
    words = f"{percent(row['share'])} of its class; allotted {percent(row['allotted'])}"
    tick = None if row["allotted"] is None else row["allotted"] / scale
    return bar(row["share"] / scale, words, "plain" if row["backlogged"] else "faint", tick)


def waiting(row: Row) -> str:
    """In how many windows there was work waiting."""
    return f"{count(row['backlogged'])} of {count(row['windows'])}"
