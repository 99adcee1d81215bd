"""What was learned: links and their delays, how bursty publishers were, what serving a message cost."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from giusto.report.bar import bar, gauge
from giusto.report.markup import Markup, element, joined, name, paragraph
from giusto.report.table import Column, Row, key, several, table, worst
from giusto.report.wording import brief, count, percent, rounded, with_unit

LINK = ("run", "source", "target")
LINK_COLUMNS = (*LINK, "count", "mean_ns_per_kb", "variance", "normal", "least_ns")
QUANTUM_COLUMNS = ("node", "size_class", "fan_out", "count", "mean_ns", "p50_ns", "p99_ns", "max_ns")
FLOW = ("run", "publisher", "topic", "min_sep_ns")
"""A flow that offered two things one after the other counts as two, as in the table."""
FLOW_COLUMNS = (*FLOW, "rho_hz", "sigma_messages", "offered", "kept", "closer", "count")
KEPT = {True: "yes", False: "no"}
MOST = 30


def links(rows: list[Row]) -> Markup:
    """A row for each link."""
    rows = sorted(
        rows, key=lambda row: (-(row["count"] or 0), *(str(row[part]) for part in LINK_COLUMNS[:3]))
    )
    shown, more = worst(rows, MOST, "links", "busiest")
    columns = [
        Column("link", lambda row: joined([name(row["source"]), " → ", name(row["target"])])),
        Column("transmissions", lambda row: count(row["count"]), lambda row: row["count"]),
        Column("mean per KB", lambda row: rounded(row["mean_ns_per_kb"]), lambda row: row["mean_ns_per_kb"]),
        Column("deviation per KB", lambda row: rounded(deviation(row)), lambda row: deviation(row) or 0),
        Column("shortest", lambda row: rounded(row["least_ns"]), lambda row: row["least_ns"] or 0),
        Column("like a normal distribution", normal),
    ]
    return joined([more, table(columns, shown, "Links, busiest first")])


def deviation(row: Row) -> float | None:
    """The square root of the variance."""
    return None if row["variance"] is None else max(0.0, row["variance"]) ** 0.5


def normal(row: Row) -> str:
    """Whether the delays look like the model that the schedulers use."""
    return {True: "yes", False: "no"}.get(row["normal"], "not known")


def flows(rows: list[Row]) -> Markup:
    """A row for each flow: whether it kept its offer, and its largest burst at some rates."""
    found = sorted(bursts(rows), key=broken_first)
    shown, more = worst(found, MOST, "flows", "first")
    runs = several(found)
    columns = [
        Column("flow", lambda row: key(row, runs)),
        Column("messages", lambda row: count(row["count"]), lambda row: row["count"]),
        Column("offer kept", offer_kept),
        Column("closer than the separation", lambda row: count(row["closer"]), lambda row: row["closer"]),
        Column("burst at the rate offered", lambda row: row["offered"]),
        Column("largest burst beyond a rate", lambda row: ladder(row["steps"])),
    ]
    about = paragraph(
        "By when messages were sent. Messages that came closer than the separation are within the offer as "
        "far as its burst, its jitter and the tolerance of the broker cover them. The broker polices by when "
        "messages come to it: of those that were sent as offered some may be policed if they came together.",
        class_="about",
    )
    return joined([about, more, table(columns, shown, "Flows, those that broke their offers first")])


def broken_first(flow: Row) -> tuple[Any, ...]:
    """Offers that were not kept, then those of which that is not known; where more came closer first."""
    is_doubtful = flow["kept"] is None and flow["min_sep_ns"] is not None
    doubt = 0 if flow["kept"] is False else 1 if is_doubtful else 2
    return doubt, -flow["closer"], *(str(flow[part]) for part in FLOW)


def offer_kept(flow: Row) -> Markup:
    """Yes, no or not known; without an offer there is nothing to keep."""
    if flow["min_sep_ns"] is None:
        return element("span", "none made", class_="quiet")
    return element("span", KEPT.get(flow["kept"], "not known"))


def bursts(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """One row for each flow, with its (rate, burst) in steps."""
    order = sorted(rows, key=lambda row: (*(str(row[part]) for part in FLOW), row["rho_hz"] or 0))
    return [_flow(list(some)) for _, some in groupby(order, lambda row: tuple(row[part] for part in FLOW))]


def _flow(rows: list[Row]) -> dict[str, Any]:
    told = [row for row in rows if row["sigma_messages"] is not None]
    return {
        **{part: rows[0][part] for part in FLOW},
        "count": max(row["count"] or 0 for row in rows),
        "kept": rows[0]["kept"],
        "closer": max(row["closer"] or 0 for row in rows),
        "offered": next((step(row) for row in told if row["offered"]), "nothing"),
        "steps": [step(row) for row in told if not row["offered"]],
    }


def step(row: Row) -> str:
    """A rate, and the largest burst beyond it."""
    return f"{brief(row['sigma_messages'])} at {brief(row['rho_hz'])}/s"


def ladder(steps: list[str], most: int = 4) -> Markup:
    """Some of the rates with their bursts, the first and the last among them."""
    if not steps:
        return element("span", "not known", class_="quiet")
    last = len(steps) - 1
    places = sorted({round(last * place / max(1, most - 1)) for place in range(most)})
    return joined(element("span", steps[place], class_="step") for place in places)


def quanta(rows: list[Row]) -> Markup:
    """A row for each size and fan-out."""
    rows = sorted(rows, key=lambda row: tuple(_ordered(row[part]) for part in QUANTUM_COLUMNS[:3]))
    shown, more = worst(rows, MOST, "classes", "first")
    longest = max((row["p99_ns"] or 0 for row in rows), default=0) or 1
    columns = [
        Column("broker", lambda row: name(row["node"])),
        Column("size", lambda row: size(row["size_class"]), lambda row: row["size_class"]),
        Column("subscribers", lambda row: count(row["fan_out"]), lambda row: row["fan_out"]),
        Column("messages", lambda row: count(row["count"]), lambda row: row["count"]),
        Column("p50", lambda row: rounded(row["p50_ns"]), lambda row: row["p50_ns"]),
        Column("p99", lambda row: p99(row, longest), lambda row: row["p99_ns"], wide=True),
        Column("longest", lambda row: rounded(row["max_ns"]), lambda row: row["max_ns"]),
    ]
    return joined([more, table(columns, shown, "Service by size and number of subscribers")])


def size(upto: object) -> str:
    """A class of sizes."""
    return f"up to {with_unit(f'{count(upto)} B')}" if isinstance(upto, int | float) else str(upto)


def p99(row: Row, longest: int) -> Markup:
    """A bar, compared with the longest p99 of all classes."""
    share = (row["p99_ns"] or 0) / longest
    words = f"{percent(share)} of the longest p99"
    return gauge(bar(share, words, "plain"), rounded(row["p99_ns"]))


def _ordered(value: object) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))
