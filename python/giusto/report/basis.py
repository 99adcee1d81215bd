"""What the report rests on: how many records were read, and what is missing in it, without being asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giusto.report.markup import Markup, element, joined, paragraph
from giusto.report.wording import count, counted, listed

QUARANTINED = {
    "truncated": "files that end too early",
    "foreign": "files of another kind",
    "version": "files of a later version",
    "duplicate file": "files that were there twice",
    "unreadable": "files that could not be read",
    "late": "came after their time had been settled",
}
DROPPED = {
    "ring": "the broker's ring was full",
    "disk": "the disk was full or slow",
    "sampling": "only a sample was kept",
    "age": "removed because they were old",
    "size": "removed because the folder was full",
}
MISSING = {"quarantined": "set aside", "dropped": "never written"}
KINDS = (("quarantined", "set aside", QUARANTINED), ("dropped", "not written", DROPPED))


def section(found: Mapping[str, Any], absent: list[str]) -> Markup:
    """Every number that somebody could miss."""
    lines = [read(found), *kinds(found)]
    if absent:
        lines.append(joined([f"Not in this folder: {listed(absent)}."]))
    return joined([opening(found), element("ul", *(element("li", line) for line in lines), class_="plain")])


def opening(found: Mapping[str, Any]) -> Markup:
    """Whether it is everything."""
    missing = [words for name, words in MISSING.items() if total(found, name)]
    if not missing:
        return paragraph("Every record that was written is in this report, and none was set aside.")
    return paragraph(
        element("strong", f"Some records were {listed(missing)}."),
        " What happened to those messages is not in this report: the verdict is about what was seen.",
    )


def read(found: Mapping[str, Any]) -> Markup:
    """From records to deliveries."""
    twice = found.get("duplicates") or 0
    copies = f"; {count(twice)} were copies of others" if twice else ""
    records = counted(found.get("records") or 0, "record")
    runs = found.get("runs")
    number = len(runs) if isinstance(runs, list) else runs
    said = f" of {counted(number, 'run')}" if isinstance(number, int) else ""
    return joined([f"{records}{said} made {count(found.get('deliveries'))} deliveries{copies}."])


def kinds(found: Mapping[str, Any]) -> list[Markup]:
    """What was set aside and what was never written, by reason."""
    lines = []
    for name, words, known in KINDS:
        for reason, rows in sorted((found.get(name) or {}).items()):
            if rows:
                why = known.get(reason, "impossible or incomplete" if name == "quarantined" else "")
                about = f"{reason} ({why})" if why else reason
                lines.append(joined([element("strong", count(rows)), f" {words}: ", about]))
    return lines


def total(found: Mapping[str, Any], name: str) -> int:
    """All reasons together."""
    return int(sum((found.get(name) or {}).values()))
