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
    return "held" if found.get("with_bound") or found.get("largest_ratio") is not None else "unpromised"


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
    return element(
        "section",
        element("h1", sign, WORDS[said], "."),
        paragraph(sentence(found), class_="sentence"),
        *(paragraph(words, class_="more") for words in provisos(found)),
        tiles(found),
        class_=f"verdict {said}",
        id="verdict",
    )


def provisos(found: Mapping[str, Any]) -> list[str]:
    """What may still change, and what a stream had to leave out."""
    words = []
    if found.get("pending"):
        records = counted(found["pending"], "record")
        words.append(f"A stream is behind this: {records} of time that has not ended may still be joined.")
    if found.get("complete") is False:
        late = counted((found.get("quarantined") or {}).get("late") or 0, "record")
        words.append(f"{late} came too late for the stream and were left out: run with --once to have them.")
    return words


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
