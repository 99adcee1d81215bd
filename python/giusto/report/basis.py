"""What the report rests on: how many records were read, and what is missing in it, without being asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giusto.report.markup import Markup, element, joined, paragraph
from giusto.report.verdict import arrived, lost
from giusto.report.wording import count, counted, listed, were

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
}
REMOVED = {"age": "they were old", "size": "the folder was full"}
KINDS = (
    ("quarantined_files", "file", "left out", FILES),
    ("quarantined", "record", "left out", ROWS),
    ("dropped", "record", "dropped", DROPPED),
    ("dropped", "record", "removed", REMOVED),
)
COPIES = "duplicate file"


def section(found: Mapping[str, Any], absent: list[str]) -> Markup:
    """Every number that somebody could miss."""
    lines: list[object] = [read(found), *kinds(found), *doubts(found)]
    if absent:
        lines.append(f"Not in this folder: {listed(absent)}.")
    return joined([opening(found), element("ul", *(element("li", line) for line in lines), class_="plain")])


def opening(found: Mapping[str, Any]) -> Markup:
    """Whether it is everything, as far as that is known."""
    missing = gaps(found)
    if missing:
        return paragraph(
            element("strong", f"Not every record is in this report: {listed(missing)}."),
            " What happened to those messages is not in it: the verdict is about what was seen.",
        )
    if found.get("written") is None:
        return paragraph("Every record that was found is in this report.")
    return paragraph("Every record that was written is in this report.")


def gaps(found: Mapping[str, Any]) -> list[str]:
    """What is missing for certain, in words with figures."""
    rows, files = (without_copies(found, name) for name in ("quarantined", "quarantined_files"))
    said = (
        (rows, "record", "left out"),
        (0 if rows else files, "file", "left out"),
        (total(found, "dropped") - removed(found), "record", "dropped"),
        (min(removed(found), unseen(found)), "record", "removed unread"),
        (unread(found), "record", "written and not read"),
    )
    return [f"{were(number, noun)} {fate}" for number, noun, fate in said if number > 0]


def unseen(found: Mapping[str, Any]) -> int:
    """Records that were in files, as their writers say, and were never read; 0 if nobody says."""
    written, read = found.get("written"), found.get("records") or 0
    copies = (found.get("quarantined") or {}).get(COPIES, 0)
    return 0 if written is None else max(0, int(written) - read + copies)


def unread(found: Mapping[str, Any]) -> int:
    """Those of them that are still there."""
    return max(0, unseen(found) - removed(found))


def removed(found: Mapping[str, Any]) -> int:
    """Records that were in files and are gone; a stream may have read them before."""
    return sum((found.get("dropped") or {}).get(reason, 0) for reason in REMOVED)


def without_copies(found: Mapping[str, Any], name: str) -> int:
    """All that was left out, but for copies of what is there."""
    return total(found, name) - int((found.get(name) or {}).get(COPIES, 0))


def read(found: Mapping[str, Any]) -> str:
    """From records to deliveries."""
    twice = found.get("duplicates") or 0
    copies = f"; {counted(twice, 'duplicate')} counted once" if twice else ""
    records = counted(found.get("records") or 0, "record")
    runs = found.get("runs")
    number = len(runs) if isinstance(runs, list) else runs
    said = f" of {counted(number, 'run')}" if isinstance(number, int) else ""
    made = f"{counted(arrived(found), 'delivery')} that arrived and {count(lost(found))} that did not"
    return f"{records}{said} made {made}{copies}."


def kinds(found: Mapping[str, Any]) -> list[Markup]:
    """What was left out and what was dropped, by reason."""
    return [
        joined([element("strong", counted(number, noun)), f" {fate}: ", about(reason, known)])
        for name, noun, fate, known in KINDS
        for reason, number in sorted((found.get(name) or {}).items())
        if number and (reason in REMOVED) == (known is REMOVED)
    ]


def doubts(found: Mapping[str, Any]) -> list[str]:
    """What may be missing or change."""
    said = []
    rest, unended, pending = unread(found), found.get("unended") or 0, found.get("pending") or 0
    if rest:
        said.append(f"{were(rest, 'record')} written and not read: run the pipeline again to have them.")
    if found.get("written") is None:
        said.append("No manifest is beside the records: nobody says whether there were more.")
    if unended:
        writers = f"{unended:,} of the writers" if unended > 1 else "A writer"
        said.append(f"{writers} had not ended: what was in no file by then is not here.")
    if pending:
        said.append(f"{counted(pending, 'record')} wait for the rest of their time.")
    if found.get("forgotten"):
        said.append(f"{were(found['forgotten'], 'delivery')} removed from the table since, for their age.")
    return said


def about(reason: str, known: Mapping[str, str]) -> str:
    """The reason, and what it means if that is not plain."""
    return f"{reason} ({known[reason]})" if reason in known else reason


def total(found: Mapping[str, Any], name: str) -> int:
    """All reasons together."""
    return int(sum((found.get(name) or {}).values()))
