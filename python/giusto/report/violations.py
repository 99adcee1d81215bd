"""Every delivery that was later than promised, with where its time went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.report.bar import gauge, stacked
from giusto.report.markup import Markup, element, joined, paragraph
from giusto.report.table import Column, Row, key, several, table
from giusto.report.wording import count, percent, rounded, span

if TYPE_CHECKING:
    import pyarrow as pa

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
ORDER = [("over_ns", "descending")] + [
    (name, "ascending") for name in ("t_sent_ns", "sequence", "run", "topic", "publisher", "subscriber")
]


def section(found: pa.Table) -> Markup:
    """The latest first, against what was promised; a record calls that `bound_ns`."""
    if not len(found):
        return paragraph("No delivery was later than promised.", class_="nothing")
    start_ns, rows, more = earliest_ns(found), found.sort_by(ORDER).slice(0, MOST).to_pylist(), Markup()
    if len(found) > MOST:
        left = count(len(found) - MOST)
        text = f"The {MOST} that were over by most are shown; there are {left} more."
        more = paragraph(text, class_="more")
    runs = several(rows)
    columns = [
        Column("delivery", lambda row: key(row, runs, f" · message {row['sequence']}")),
        Column("after", lambda row: rounded(row["t_sent_ns"] - start_ns), lambda row: row["t_sent_ns"]),
        Column("took", lambda row: rounded(row["observed_ns"]), lambda row: row["observed_ns"]),
        Column("promise", lambda row: rounded(row["bound_ns"]), lambda row: row["bound_ns"]),
        Column("over by", lambda row: rounded(row["over_ns"]), lambda row: row["over_ns"]),
        Column("where the time went", where, lambda row: row["observed_ns"], wide=True),
    ]
    caption = "Violations; “after” counts from the first of them"
    return joined([more, legend(), table(columns, rows, caption)])


def earliest_ns(found: pa.Table) -> int:
    """When the first was sent."""
    import pyarrow.compute as pc

    return int(pc.min(found["t_sent_ns"]).as_py())


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
