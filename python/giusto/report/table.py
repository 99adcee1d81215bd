"""Tables: a heading for each column, and on a narrow screen a card for each row.

Each cell carries the name of its column, which a card shows, and a number to sort by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from giusto.report.markup import Markup, element, joined, name, paragraph
from giusto.report.wording import count

Row: TypeAlias = Mapping[str, Any]
LONG = 15  # rows; a table with more of them scrolls by itself


@dataclass(frozen=True)
class Column:
    """A heading, what stands below it, and what it is sorted by (text, if nothing is given)."""

    title: str
    cell: Callable[[Row], object]
    value: Callable[[Row], object] | None = None
    wide: bool = False


def table(columns: Sequence[Column], rows: Iterable[Row], caption: str) -> Markup:
    """Rows in the order in which they come."""
    heads = (element("th", each.title, scope="col", class_=_kind(each)) for each in columns)
    body = [element("tr", *(_cell(each, row) for each in columns)) for row in rows]
    made = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", *body),
    )
    if len(body) <= LONG:
        return element("div", made, class_="wide")
    return element("div", made, class_="wide scroll", tabindex=0, role="region", aria_label=caption)


def _cell(column: Column, row: Row) -> Markup:
    value = None if column.value is None else column.value(row)
    return element("td", column.cell(row), class_=_kind(column), data_label=column.title, data_value=value)


def _kind(column: Column) -> str | None:
    if column.wide:
        return "bar"
    return None if column.value is None else "number"


def worst(rows: Sequence[Row], most: int, noun: str, order: str) -> tuple[Sequence[Row], Markup]:
    """The first rows, and a line that says how many there are if that is not all."""
    if len(rows) <= most:
        return rows, Markup()
    said = f"The {count(most)} {order} of {count(len(rows))} {noun} are shown."
    return rows[:most], paragraph(said, class_="more")


def key(row: Row, runs: bool, more: str = "") -> Markup:
    """Whose figures these are: the topic, and from whom to whom; the run if there are several; and more."""
    ends = [row.get("publisher", row.get("client")), subscriber(row)]
    parties = joined(_between([name(end) for end in ends if end is not None], " → "))
    run = joined([" · run ", name(row.get("run"))]) if runs else Markup()
    return joined([name(row.get("topic")), element("span", parties, run, more, class_="parties")])


def subscriber(row: Row) -> str | None:
    """A subscriber, with the number of its subscription if it is known."""
    who, number = row.get("subscriber"), row.get("subscription")
    if who is None:
        return None
    return str(who) if number is None else f"{who} #{number}"


def several(rows: Iterable[Row]) -> bool:
    """Whether the rows are of more than one run."""
    return len({row.get("run") for row in rows}) > 1


def _between(parts: Sequence[object], separator: str) -> list[object]:
    return [each for part in parts for each in (separator, part)][1:]
