"""How long deliveries took: a row for each subscription, with its distribution and its course over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from giusto.pipeline.tables.histogram import midpoint_of
from giusto.report.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Mark,
    apart,
    columns,
    drawing,
    label,
    levels,
    path,
    pixel,
    rows,
    uprights,
)  # fmt: skip
from giusto.report.markup import Markup, element, joined, paragraph
from giusto.report.scale import Linear, Log
from giusto.report.series import Point, Series, points, quantile
from giusto.report.table import Row, key
from giusto.report.wording import count, percent, rounded, span

BINS = 12  # bars for a factor of ten
QUANTILES = {"p50": (1, 2), "p99": (99, 100), "p99.9": (999, 1000), "p99.99": (9_999, 10_000)}
NAMES_WIDE = 30
TERMS = {"proved_ns": "bound", "bound_ns": "promise", "deadline_ns": "deadline"}


def row(series: Series, runs: bool) -> Markup:
    """One subscription: its name and figures, its distribution, its course."""
    return element(
        "article",
        element("div", element("h3", key(series.row, runs)), figures(series), class_="figures"),
        figure(distribution(series), "deliveries by latency, both on logarithmic scales"),
        figure(course(series), "latency over time, on a logarithmic scale"),
        class_="series",
    )


def figure(drawn: Markup, caption: str) -> Markup:
    """A drawing and what it shows."""
    return element("figure", drawn, element("figcaption", caption))


def figures(series: Series) -> Markup:
    """Quantiles, the longest, and what was proved, promised and asked for."""
    counts, longest = series.histogram, series.row["max_ns"]
    pairs = [("arrived", count(series.row["count"]))]
    pairs += [
        (name, rounded(min(quantile(counts, share), longest)))
        for name, share in QUANTILES.items()
        if series.row["count"] * (share[1] - share[0]) >= share[1]
    ]
    pairs.append(("longest", rounded(longest)))
    for mark in marks(series.row):
        pairs += [(mark.kind, rounded(mark.value)), (f"of {mark.kind}", percent(longest / mark.value))]
    terms = (joined([element("dt", name), element("dd", value)]) for name, value in pairs)
    return element("dl", *terms)


def marks(row: Row) -> list[Mark]:
    """What was proved, promised and asked for."""
    found = ((row[name], kind) for name, kind in TERMS.items())
    return [Mark(value, f"{kind} {rounded(value)}", kind) for value, kind in found if value]


def binned(counts: Mapping[int, int]) -> dict[int, int]:
    """Counts by powers of the tenth-or-so of a factor of ten."""
    bins: Counter[int] = Counter()
    for index, found in counts.items():
        middle = max(1, midpoint_of(index))
        bins[math.floor(math.log10(middle) * BINS)] += found
    return dict(sorted(bins.items()))


def distribution(series: Series) -> Markup:
    """How many deliveries took how long, both on logarithmic scales: a single late one is seen as well."""
    bins = binned(series.histogram)
    if not bins:
        return drawing("Distribution", "Nothing was delivered.", label(LEFT, 90, "nothing was delivered"))
    edges = [10 ** (place / BINS) for place in (min(bins), max(bins) + 1)]
    reach = [edges[0], edges[1], *(mark.value for mark in marks(series.row))]
    x = Log(max(1, min(reach) / 1.3), max(reach) * 1.3, LEFT, WIDTH - RIGHT)
    top = max(TOP, 6 + 12 * len(marks(series.row)))  # below the names of the marks
    y = Log(0.6, max(bins.values()) * 1.2, HEIGHT - BOTTOM, top)
    bars = (_bar(x, y, place, found) for place, found in bins.items())
    about = (
        f"{count(series.row['count'])} deliveries; median {rounded(quantile(series.histogram, (1, 2)))}, "
        f"longest {rounded(series.row['max_ns'])}"
    )
    parts = [*rows(y, _short), *bars, *columns(x, span), *uprights(x, marks(series.row))]
    return drawing("How many deliveries took how long", f"{about}.", *parts)


def _bar(x: Log, y: Log, place: int, found: int) -> Markup:
    low, high = (10 ** (each / BINS) for each in (place, place + 1))
    left, right, top = x.at(low), x.at(high), y.at(found)
    words = f"{rounded(low)} to {rounded(high)}: {count(found)}"
    return element(
        "rect",
        element("title", words),
        x=pixel(left),
        y=pixel(top),
        width=pixel(max(1.0, right - left - 0.6)),
        height=pixel(HEIGHT - BOTTOM - top),
        class_="bin",
    )


def _short(value: int) -> str:
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value // size}{letter}"
    return str(value)


def course(series: Series) -> Markup:
    """p50, p99 and the longest of each window, on a logarithmic scale."""
    found = points(series)
    right = WIDTH - RIGHT - NAMES_WIDE
    start_ns, end_ns = series.span_ns
    x = Linear(0, max(1, end_ns - start_ns), LEFT + 4, right)
    values = [value for point in found for value in (point.p50_ns, point.max_ns)]
    values += [mark.value for mark in marks(series.row)]
    top = 18 if marks(series.row) else 6  # room for a name above the highest mark
    y = Log(max(1, min(values) / 1.5), max(max(values), 2) * 1.5, HEIGHT - BOTTOM, top)
    places = [x.at(point.start_ns - start_ns) for point in found]
    lines = [_line(name, places, [y.at(_value(point, name)) for point in found]) for name in LINES]
    names = apart([y.at(_value(found[-1], name)) for name in LINES])
    said = (
        label(right + 6, height + 3.5, name, f"name-{name}")
        for name, height in zip(LINES, names, strict=True)
    )
    parts = [*rows(y, span, right), *columns(x, span), *levels(y, marks(series.row), right)]
    about = f"{count(len(found))} points; the longest was {rounded(series.row['max_ns'])}."
    return drawing("Latency over time", about, *parts, *lines, *said)


LINES = ("p50", "p99", "max")


def _value(point: Point, name: str) -> int:
    return int(getattr(point, f"{name}_ns"))


def _line(name: str, places: list[float], heights: list[float]) -> Markup:
    points = list(zip(places, heights, strict=True))
    dots = (
        element("circle", cx=pixel(x), cy=pixel(y), r=1.8, class_=f"dot-{name}")
        for x, y in points
        if name == "max" or len(points) == 1
    )
    return joined([path(points, f"line-{name}"), *dots])


def section(found: list[Series], total: int) -> Markup:
    """A row for each, the worst first."""
    if not found:
        return paragraph("Nothing was delivered.", class_="nothing")
    runs = len({series.row["run"] for series in found}) > 1
    shown = Markup()
    if total > len(found):
        text = (
            f"The {count(len(found))} worst of {count(total)} are shown: those nearest to their bounds first."
        )
        shown = paragraph(text, class_="more")
    return joined([shown, *(row(series, runs) for series in found)])
