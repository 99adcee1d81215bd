"""How the summary of a sweep looks: a row for each group of cases, a column for each number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from giusto.errors import InvalidInput
from giusto.pipeline.cases import COUNT, HALF_WIDTH, MEAN, RESULT, SUMMARY_COLUMNS

if TYPE_CHECKING:
    from rich.table import Table

RUNS = "runs"
MOST_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class Page:
    """Headings and cells; the columns from `first_number` on are numbers."""

    columns: list[str]
    rows: list[list[str]]
    first_number: int


def page(summary: Sequence[dict[str, Any]], only: Iterable[str] = ()) -> Page:
    """The table of a summary that has a row for each group and number; `only` these numbers, if named."""
    keys = [name for name in summary[0] if name not in SUMMARY_COLUMNS]
    known = sorted({row[RESULT] for row in summary})
    shown = chosen(known, list(only))
    groups: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in summary:
        groups.setdefault(tuple(row[key] for key in keys), {})[row[RESULT]] = row
    rows = [
        [*map(plain, group), counted(found), *(cell(found.get(name)) for name in shown)]
        for group, found in groups.items()
    ]
    return Page([*keys, RUNS, *shown], rows, len(keys))


def chosen(known: list[str], only: list[str]) -> list[str]:
    """The numbers to show."""
    for name in only:
        if name not in known:
            raise InvalidInput("--result", name, f"one of {', '.join(known)}")
    return only or known


def counted(found: dict[str, dict[str, Any]]) -> str:
    """How many runs a group has."""
    return f"{max(row[COUNT] for row in found.values()):,}"


def cell(row: dict[str, Any] | None) -> str:
    """A mean and how sure it is."""
    if row is None or row[MEAN] is None:
        return "–"
    return show_mean(row[MEAN], row[HALF_WIDTH])


def show_mean(mean: float, half_width: float | None) -> str:
    """As many digits as the interval justifies: two of its own."""
    if half_width is None or not half_width:
        text = f"{mean:,.0f}" if abs(mean) >= 1000 else f"{mean:.6g}"
        return text if half_width is None else f"{text} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(half_width)))
    if decimals > MOST_DECIMALS:
        return f"{mean:.6g} ± {half_width:.2g}"
    return f"{mean:,.{decimals}f} ± {half_width:,.{decimals}f}"


def plain(value: object) -> str:
    """A parameter as it was given."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def drawn(shown: Page) -> Table:
    """A table for the terminal; names are texts, not markup."""
    from rich.table import Table
    from rich.text import Text

    result = Table(box=None, header_style="bold", pad_edge=False)
    for n, name in enumerate(shown.columns):
        result.add_column(Text(name), justify="right" if n >= shown.first_number else "left")
    for row in shown.rows:
        result.add_row(*map(Text, row))
    return result
