"""How figures look, and how tables are written: one style, what was published beside what is ours.

Figures are `matplotlib.figure.Figure` objects: nothing global, nothing on a screen.
"""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.errors import NotInstalled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from giusto.papers.experiment import Table

INCH_WIDE, INCH_HIGH, DPI = 4.6, 3.2, 130
# Told apart also without colours, together with markers and dashes; the first is the one to look at.
COLOURS = ("#c2410c", "#1d4ed8", "#15803d", "#7e22ce", "#64748b")
PUBLISHED: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2}
STYLE = {
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "grid.color": "#e2e8f0",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
}


def require_matplotlib() -> None:
    """Before time is spent on what could not be drawn."""
    if find_spec("matplotlib") is None:
        raise NotInstalled("matplotlib", "pip install 'giusto[papers]', or go without figures")


def canvas(
    rows: int = 1, columns: int = 1, *, wide: float = INCH_WIDE, high: float = INCH_HIGH, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure and its panels, row by row; `options` are those of `Figure.subplots`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):  # type: ignore[no-untyped-call,unused-ignore]
        figure = Figure(figsize=(wide * columns, high * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(panels.flat)


def label(axes: Axes, *, title: str, x: str, y: str, legend: bool = True) -> None:
    """What a panel shows; axes with their units."""
    axes.set_title(title, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if legend:
        axes.legend(frameon=False, fontsize=8)


def shared_legend(figure: Figure, panels: list[Axes], columns: int = 3) -> None:
    """One legend below all panels, each text once."""
    found = {
        text: handle
        for axes in panels
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=8,
    )


def published_level(axes: Axes, value: float, text: str) -> None:
    """A published number, as a line across the panel."""
    axes.axhline(value, label=text, **PUBLISHED)


def published_points(axes: Axes, x: list[float], y: list[float], text: str) -> None:
    """Published numbers, as hollow squares."""
    axes.plot(x, y, "s", color="black", markerfacecolor="white", markersize=6, label=text, zorder=5)


def write_png(figure: Figure, path: Path) -> Path:
    """The picture; nothing in the file depends on when it was made."""
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    return path


def write_csv(table: Table, path: Path) -> Path:
    """The rows that a picture was made of."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.rows)
    return path
