"""The verdict in plain words: whether every promise was kept, and the figures that say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giusto.report.markup import Markup, element, paragraph
from giusto.report.wording import count, counted, percent

SIGNS = {"held": "✓", "violated": "✗", "uncertain": "?", "unpromised": "–"}
WORDS = {
    "held": "Held",
    "violated": "Violated",
    "uncertain": "Uncertain",
    "unpromised": "No promises",
}


def kind(found: Mapping[str, Any]) -> str:
    """One word for it."""
    if found.get("violations"):
        return "violated"
    if found.get("uncertain"):
        return "uncertain"
    return "held" if found.get("contracts") else "unpromised"


def sentence(found: Mapping[str, Any]) -> str:
    """What the word means, with its figures."""
    deliveries = counted(found.get("deliveries") or 0, "delivery", "deliveries")
    contracts = counted(found.get("contracts") or 0, "contract")
    said = kind(found)
    if said == "unpromised":
        return f"{deliveries}, none of them under a contract, so there was no bound to break."
    ratio = found.get("largest_ratio")
    largest = "" if ratio is None else f"; largest observed/bound {percent(ratio)}"
    broken = counted(found.get("violations") or 0, "violation")
    doubt = found.get("uncertain") or 0
    if said == "uncertain":
        words = f"{count(doubt)} of {deliveries} were over their bound, by less than the clocks may be apart"
        return f"{words}; {contracts}, 0 violations{largest}."
    unsure = f", {count(doubt)} uncertain" if doubt else ""
    return f"{deliveries} under {contracts}, {broken}{unsure}{largest}."


def banner(found: Mapping[str, Any]) -> Markup:
    """The top of the page."""
    said = kind(found)
    sign = element("span", SIGNS[said], class_="sign", aria_hidden="true")
    waiting = Markup()
    if found.get("complete") is False:
        waiting = paragraph("The pipeline is still running: this is what it had seen so far.", class_="more")
    return element(
        "section",
        element("h1", sign, WORDS[said], "."),
        paragraph(sentence(found), class_="sentence"),
        waiting,
        tiles(found),
        class_=f"verdict {said}",
        id="verdict",
    )


def tiles(found: Mapping[str, Any]) -> Markup:
    """The figures, large."""
    lost = sum((found.get("losses") or {}).values())
    figures = [
        ("deliveries", count(found.get("deliveries"))),
        ("contracts", count(found.get("contracts"))),
        ("violations of a bound", count(found.get("violations"))),
        ("largest observed/bound", percent(found.get("largest_ratio"))),
        ("deadlines missed", count(found.get("misses"))),
        ("lost or turned away", count(lost)),
    ]
    pairs = (element("div", element("dd", value), element("dt", name)) for name, value in figures)
    return element("dl", *pairs, class_="tiles")


def badge(said: str) -> Markup:
    """A verdict in a table: a sign and a word."""
    known = said if said in SIGNS else "unpromised"
    return element("span", f"{SIGNS[known]} {said}", class_=f"badge {known}")
