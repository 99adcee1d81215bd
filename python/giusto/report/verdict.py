"""The verdict in plain words: whether every promise was kept, and the figures that say so.

The terminal says the same in the same words (`giusto.cli.pipeline.table`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giusto.pipeline.verdict import missing
from giusto.report.markup import Markup, element, paragraph
from giusto.report.wording import count, counted, percent, were

SIGNS = {"held": "✓", "violated": "✗", "uncertain": "?", "unpromised": "–", "empty": "–"}
WORDS = {
    "held": "Held",
    "violated": "Violated",
    "uncertain": "Uncertain",
    "unpromised": "No promises",
    "empty": "Nothing to judge",
}
BY_LESS = "by less than the clocks may be apart"
WITH_GAPS = (
    "counts and rates are of what was recorded, bursts may have been larger, and no service times are known"
)


def kind(found: Mapping[str, Any]) -> str:
    """One word for it. Without a promise there was nothing to hold, whatever became of the deadlines."""
    if found.get("violations"):
        return "violated"
    if found.get("uncertain"):
        return "uncertain"
    if found.get("used") == 0:
        return "empty"
    return "held" if found.get("with_bound") or found.get("largest_ratio") is not None else "unpromised"


def headline(found: Mapping[str, Any]) -> str:
    """What the word means."""
    match kind(found):
        case "violated":
            return f"{were(found['violations'], 'delivery')} later than promised"
        case "uncertain":
            return f"{were(found['uncertain'], 'delivery')} later than promised, but {BY_LESS}"
        case "held":
            return "no delivery was later than promised"
        case "empty":
            return "there was no record that could be used"
    return "nothing was promised for any delivery"


def sentence(found: Mapping[str, Any]) -> str:
    """The same with its figures."""
    words = headline(found)
    parts = [words[:1].upper() + words[1:], audited(found), *nearest(found), *missed(found)]
    return "; ".join(part for part in parts if part) + "."


def audited(found: Mapping[str, Any]) -> str:
    """How many deliveries there were to look at, and how many of them broke a promise."""
    contracts = found.get("contracts") or 0
    if not contracts:
        return f"{counted(arrived(found), 'delivery')} arrived, none of them under a contract"
    words = f"{counted(found.get('audited') or 0, 'delivery')} under {counted(contracts, 'contract')}"
    doubt = found.get("uncertain") or 0
    unsure = f", {count(doubt)} uncertain" if doubt else ""
    return f"{words}, {counted(found.get('violations') or 0, 'violation')}{unsure}"


def nearest(found: Mapping[str, Any]) -> list[str]:
    """How near a delivery ever came to its bound, and to its promise."""
    said = ", ".join(f"{name} {percent(ratio)}" for name, ratio in ratios(found))
    return [f"largest {said}"] if said else []


def ratios(found: Mapping[str, Any]) -> list[tuple[str, float]]:
    """What was observed against what was proved, and against what was promised, as far as that is known."""
    named = (
        ("observed/bound", found.get("proved_ratio")),
        ("observed/promise", found.get("largest_ratio")),
    )
    return [(name, ratio) for name, ratio in named if ratio is not None]


def missed(found: Mapping[str, Any]) -> list[str]:
    """Deadlines, if some were missed."""
    return [f"{counted(found['misses'], 'deadline')} missed"] if found.get("misses") else []


def arrived(found: Mapping[str, Any]) -> int:
    """Deliveries that came, in time or late."""
    return int((found.get("deliveries") or 0) - lost(found))


def lost(found: Mapping[str, Any]) -> int:
    """Those that did not, for all reasons."""
    return int(sum((found.get("losses") or {}).values()))


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
    """What a reader has to know with it: a bound that was wrong, what is missing or may change."""
    words = []
    if (found.get("proved_ratio") or 0) > 1 and not found.get("violations"):
        words.append(
            "A delivery was later than the bound that was proved, though not than promised: the machine "
            "stood still, its costs are higher than it reckons with, or a publisher broke its offer."
        )
    if found.get("gaps"):
        lack = "; ".join(missing(found["gaps"]))
        words.append(f"{lack[:1].upper()}{lack[1:]}: {WITH_GAPS}.")
    if found.get("pending"):
        records = counted(found["pending"], "record")
        words.append(f"A stream made this: {records} of time that has not ended may still be joined.")
    if found.get("complete") is False:
        late = (found.get("quarantined") or {}).get("late") or 0
        said = "came too late for the stream and" + (" was" if late == 1 else " were")
        words.append(f"{counted(late, 'record')} {said} left out: run with --once to have all of them.")
    return words


def tiles(found: Mapping[str, Any]) -> Markup:
    """The figures, large."""
    contracts = counted(found.get("contracts") or 0, "contract")
    figures = [
        ("deliveries arrived", count(arrived(found))),
        ("lost", count(lost(found))),
        (f"under {contracts}", count(found.get("audited"))),
        ("violations", count(found.get("violations"))),
        *((f"largest {name}", percent(ratio)) for name, ratio in ratios(found)),
        ("deadlines missed", count(found.get("misses"))),
    ]
    pairs = (element("div", element("dt", name), element("dd", value)) for name, value in figures)
    return element("dl", *pairs, class_="tiles")


def badge(said: str) -> Markup:
    """A verdict in a table: a sign and a word."""
    known = said if said in SIGNS else "unpromised"
    return element("span", f"{SIGNS[known]} {said}", class_=f"badge {known}")
