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
    """One word for it. Without a bound there was nothing to hold, whatever became of the deadlines."""
    if found.get("violations"):
        return "violated"
    if found.get("uncertain"):
        return "uncertain"
    return "unpromised" if found.get("largest_ratio") is None else "held"


def sentence(found: Mapping[str, Any]) -> str:
    """What the word means, with its figures."""
    deliveries = counted(found.get("audited") or 0, "delivery", "deliveries")
    said = kind(found)
    if said == "unpromised":
        return f"{unbound(found)}."
    doubt = found.get("uncertain") or 0
    parts = [f"largest observed/bound {percent(found.get('largest_ratio'))}", *missed(found)]
    contracts = counted(found.get("contracts") or 0, "contract")
    if said == "uncertain":
        over = f"{count(doubt)} of {deliveries} were over their bound, by less than the clocks may be apart"
        return "; ".join([over, f"{contracts}, 0 violations", *parts]) + "."
    unsure = f", {count(doubt)} uncertain" if doubt else ""
    broken = counted(found.get("violations") or 0, "violation")
    return "; ".join([f"{deliveries} under {contracts}, {broken}{unsure}", *parts]) + "."


def unbound(found: Mapping[str, Any]) -> str:
    """Why nothing was promised."""
    contracts = found.get("contracts") or 0
    if not contracts:
        words = counted(arrived(found), "delivery", "deliveries")
        return f"{words}, none of them under a contract, so there was no bound to break"
    words = counted(found.get("audited") or 0, "delivery", "deliveries")
    late = counted(found.get("misses") or 0, "deadline")
    return (
        f"{words} under {counted(contracts, 'contract')} with a deadline and without a bound; {late} missed"
    )


def arrived(found: Mapping[str, Any]) -> int:
    """Deliveries, without what was lost or turned away."""
    return int((found.get("deliveries") or 0) - lost(found))


def lost(found: Mapping[str, Any]) -> int:
    """What did not arrive, for all reasons."""
    return int(sum((found.get("losses") or {}).values()))


def missed(found: Mapping[str, Any]) -> list[str]:
    """Deadlines, if some were missed."""
    return [f"{counted(found['misses'], 'deadline')} missed"] if found.get("misses") else []


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
    figures = [
        ("deliveries", count(arrived(found))),
        (f"of them under {counted(found.get('contracts') or 0, 'contract')}", count(found.get("audited"))),
        ("violations of a bound", count(found.get("violations"))),
        ("largest observed/bound", percent(found.get("largest_ratio"))),
        ("deadlines missed", count(found.get("misses"))),
        ("lost or turned away", count(lost(found))),
    ]
    pairs = (element("div", element("dt", name), element("dd", value)) for name, value in figures)
    return element("dl", *pairs, class_="tiles")


def badge(said: str) -> Markup:
    """A verdict in a table: a sign and a word."""
    known = said if said in SIGNS else "unpromised"
    return element("span", f"{SIGNS[known]} {said}", class_=f"badge {known}")
