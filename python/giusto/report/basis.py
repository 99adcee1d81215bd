"""What the report rests on: how many records were read, and what is missing in it, without being asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giusto.report.markup import Markup, element, joined, paragraph
from giusto.report.verdict import arrived, lost
from giusto.report.wording import count, counted, listed

FILES = {
    "truncated": "they end too early",
    "foreign": "they are something else",
    "version": "a later version wrote them",
    "duplicate file": "copies of others",
    "unreadable": "they could not be read",
    "corrupt": "something in them could not be read",
}
ROWS = {"late": "came after their time had been settled", **FILES}
DROPPED = {
    "ring": "the broker's ring was full",
    "disk": "the disk was full",
    "sampling": "only a sample was kept",
    "age": "removed because they were old",
    "size": "removed because the folder was full",
}
MISSING = {
    "quarantined_files": "set aside",
    "quarantined": "set aside",
    "dropped": "never written or removed",
}
KINDS = (
    ("quarantined_files", "file", "set aside", FILES),
    ("quarantined", "record", "set aside", ROWS),
    ("dropped", "record", "not kept", DROPPED),
)


def section(found: Mapping[str, Any], absent: list[str]) -> Markup:
    """Every number that somebody could miss."""
    lines = [read(found), *kinds(found)]
    if absent:
        lines.append(joined([f"Not in this folder: {listed(absent)}."]))
    return joined([opening(found), element("ul", *(element("li", line) for line in lines), class_="plain")])


def opening(found: Mapping[str, Any]) -> Markup:
    """Whether it is everything."""
    missing = list(dict.fromkeys(words for name, words in MISSING.items() if total(found, name)))
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
    waiting = found.get("pending") or 0
    rest = f"; {count(waiting)} still wait for the rest of their time" if waiting else ""
    made = f"{count(arrived(found))} deliveries and {count(lost(found))} losses"
    return joined([f"{records}{said} made {made}{copies}{rest}."])


def kinds(found: Mapping[str, Any]) -> list[Markup]:
    """What was set aside and what was never written, by reason."""
    return [
        joined([element("strong", counted(number, noun)), f" {fate}: ", about(reason, known)])
        for name, noun, fate, known in KINDS
        for reason, number in sorted((found.get(name) or {}).items())
        if number
    ]


def about(reason: str, known: Mapping[str, str]) -> str:
    """The reason, and what it means if that is not plain."""
    return f"{reason} ({known[reason]})" if reason in known else reason


def total(found: Mapping[str, Any], name: str) -> int:
    """All reasons together."""
    return int(sum((found.get(name) or {}).values()))
