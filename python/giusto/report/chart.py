"""What all drawings share: a frame of one size, axes with their labels, and lines that say what they mean.

A drawing is 400 wide, about what it gets on the page, so that its letters are as large as the page's. Colours
and fonts come from the style sheet, by class: the same drawing works in light, in dark and on paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise

from giusto.report.markup import Markup, element
from giusto.report.scale import Scale

WIDTH, HEIGHT = 400, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 30, 22
LETTER, BOLD = 5.8, 6.6


@dataclass(frozen=True)
class Mark:
    """A value that is drawn across the whole frame, with its name."""

    value: int
    label: str
    kind: str


def drawing(title: str, about: str, *parts: object, height: int = HEIGHT) -> Markup:
    """An SVG that also reads aloud."""
    said = (element("title", title), element("desc", about))
    return Markup(element("svg", *said, *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", class_="chart"))


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=pixel(x1), y1=pixel(y1), x2=pixel(x2), y2=pixel(y2), class_=class_)


def label(x: float, y: float, text: str, class_: str = "tick", anchor: str | None = None) -> Markup:
    """Words."""
    return element("text", text, x=pixel(x), y=pixel(y), class_=class_, text_anchor=anchor)


def path(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    """A line through points."""
    steps = " ".join(f"{pixel(x)},{pixel(y)}" for x, y in points)
    return element("polyline", points=steps, class_=class_)


def rows(scale: Scale, words: Callable[[int], str], right: float = WIDTH - RIGHT) -> list[Markup]:
    """The vertical axis: a faint line across for each tick."""
    parts = []
    for value in scale.ticks():
        y = scale.at(value)
        parts += [line(LEFT, y, right, y, "grid"), label(LEFT - 5, y + 3.5, words(value), anchor="end")]
    return parts


def columns(scale: Scale, words: Callable[[int], str]) -> list[Markup]:
    """The horizontal axis below; a label that would touch the one before is left out."""
    floor = HEIGHT - BOTTOM
    parts, free = [line(scale.start, floor, scale.end, floor, "axis")], 0.0
    for value in scale.ticks():
        x, text = scale.at(value), words(value)
        half = LETTER * len(text) / 2
        parts.append(line(x, floor, x, floor + 3, "axis"))
        if x - half >= free:
            middle = min(x, WIDTH - half)
            parts.append(label(middle, floor + 14, text, anchor="middle"))
            free = middle + half + 8
    return parts


def uprights(scale: Scale, marks: Iterable[Mark]) -> list[Markup]:
    """Marks on the horizontal axis: a line up, and its name to the left of the top, in a row of its own.

    The largest value is topmost, so that its name stands above the lines of the others.
    """
    parts = []
    for row, mark in enumerate(_from_largest(marks)):
        x, y = scale.at(mark.value), 10 + 12 * row
        is_room = x - 4 - BOLD * len(mark.label) > 0
        parts.append(line(x, y - 8, x, HEIGHT - BOTTOM, f"mark {mark.kind}"))
        beside, anchor = (x - 4, "end") if is_room else (x + 4, None)
        parts.append(label(beside, y, mark.label, f"said {mark.kind}", anchor))
    return parts


def levels(scale: Scale, marks: Iterable[Mark], right: float) -> list[Markup]:
    """Marks on the vertical axis: a line across, and its name above it or, where there is no room, below.

    Lines may be near each other: the second name stands at the other end, the third in the middle.
    """
    ends = ((LEFT + 4, None), (right - 4, "end"), ((LEFT + right) / 2, "middle"))
    parts, ceiling = [], 0.0
    for mark, (x, anchor) in zip(_from_largest(marks), cycle(ends), strict=False):
        y = scale.at(mark.value)
        beside = y - 4 if y - ceiling > 16 else y + 12
        parts += [
            line(LEFT, y, right, y, f"mark {mark.kind}"),
            label(x, beside, mark.label, f"said {mark.kind}", anchor),
        ]
        ceiling = y
    return parts


def _from_largest(marks: Iterable[Mark]) -> list[Mark]:
    return sorted(marks, key=lambda mark: -mark.value)


def apart(heights: Sequence[float], gap: float = 11.0, floor: float = HEIGHT - BOTTOM) -> list[float]:
    """The same heights, moved so that labels there do not touch; of equal ones the last is the topmost."""
    order = sorted(range(len(heights)), key=lambda index: (heights[index], -index))
    placed = list(heights)
    for before, index in pairwise(order):
        placed[index] = max(placed[index], placed[before] + gap)
    below = floor
    for index in reversed(order):
        placed[index] = min(placed[index], below)
        below = placed[index] - gap
    return placed


def pixel(value: float) -> str:
    """A tenth of a pixel is fine enough."""
    return f"{value:.1f}".removesuffix(".0")
