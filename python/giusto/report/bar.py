"""Bars: how much of a whole, with a tick for what was meant, and wholes made of parts."""

from __future__ import annotations

from collections.abc import Sequence

from giusto.report.chart import pixel
from giusto.report.markup import Markup, element

HEIGHT = 12


def bar(share: float, said: str, kind: str, tick: float | None = None) -> Markup:
    """A bar over `share` of its width, and a tick; beyond the whole it is full, and ends with an arrow."""
    full = min(1.0, max(0.0, share))
    parts = [
        element("title", said),
        element("rect", width="100%", height=HEIGHT, class_="track"),
        element("rect", width=_width(full), height=HEIGHT, class_=f"fill {kind}"),
    ]
    if share > 1:
        parts.append(element("text", "»", x="100%", y=HEIGHT - 2, class_="beyond", text_anchor="end"))
    if tick is not None:
        x = _width(min(1.0, tick))
        parts.append(element("line", x1=x, x2=x, y1=0, y2=HEIGHT, class_="allotted"))
    return element("svg", *parts, width="100%", height=HEIGHT, role="img", class_="bar")


def stacked(parts: Sequence[tuple[str, int]], said: str) -> Markup:
    """One bar made of parts, each of its class; `parts` are sizes of any unit."""
    whole, before = sum(size for _, size in parts) or 1, 0
    rects = []
    for kind, size in parts:
        if size > 0:
            place = {"x": _width(before / whole), "width": _width(size / whole)}
            rects.append(element("rect", height=HEIGHT, class_=f"part {kind}", **place))
        before += size
    title = element("title", said)
    return element("svg", title, *rects, width="100%", height=HEIGHT, role="img", class_="bar")


def gauge(drawn: Markup, figure: str) -> Markup:
    """A bar and, at its end, what it comes to."""
    return element("div", drawn, element("span", figure), class_="gauge")


def _width(share: float) -> str:
    return f"{pixel(100 * share)}%"
