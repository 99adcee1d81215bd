"""How the verdict looks: a few lines that a person reads first, in the words of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.verdict import by_reason, missing
from giusto.report.basis import unread
from giusto.report.verdict import WITH_GAPS, headline, missed, nearest
from giusto.report.wording import counted, were

if TYPE_CHECKING:
    from rich.table import Table

    from giusto.pipeline.verdict import Verdict

COLOURS = {"held": "bold green", "violated": "bold red", "uncertain": "bold yellow"}


def rows(verdict: Verdict) -> list[tuple[str, str]]:
    """What is said, in the order of what matters."""
    found = [
        ("verdict", said(verdict)),
        ("contracts", contracts(verdict)),
        ("deliveries", f"{verdict.arrived:,} arrived, {sum(verdict.losses.values()):,} lost"),
        ("lost", by_reason(verdict.losses) or "nothing"),
        ("records", f"{verdict.records:,} read"),
        ("left out", left_out(verdict)),
    ]
    if verdict.dropped:
        found.append(("dropped", by_reason(verdict.dropped)))
    if verdict.gaps:
        found.append(("gaps", f"{'; '.join(missing(verdict.gaps))}: {WITH_GAPS}"))
    if rest := unread(verdict.to_dict()):
        found.append(("not read", f"{were(rest, 'record')} written and not read: run it again to have them"))
    if not verdict.complete:
        late = counted(verdict.quarantined.get("late", 0), "record")
        found.append(("not complete", f"{late} came too late: give a longer --delay, or run with --once"))
    if verdict.pending:
        found.append(("pending", f"{counted(verdict.pending, 'record')} of slices that have not ended"))
    if verdict.forgotten:
        found.append(("forgotten", f"{were(verdict.forgotten, 'delivery')} older than --keep"))
    return found


def said(verdict: Verdict) -> str:
    """The verdict in a sentence."""
    word = verdict.verdict if verdict.used or verdict.violations else "nothing to judge"
    return f"{word}: {headline(verdict.to_dict())}"


def contracts(verdict: Verdict) -> str:
    """How many, and how near they came."""
    found = verdict.to_dict()
    return ", ".join([f"{verdict.contracts:,}", *nearest(found), *missed(found)])


def left_out(verdict: Verdict) -> str:
    """Duplicates and what is in quarantine."""
    parts = [counted(verdict.duplicates, "duplicate")] if verdict.duplicates else []
    parts += [by_reason(verdict.quarantined)] if any(verdict.quarantined.values()) else []
    files = sum(verdict.quarantined_files.values())
    if files:
        parts.append(f"{counted(files, 'file')} ({', '.join(sorted(verdict.quarantined_files))})")
    return ", ".join(parts) or "nothing"


def drawn(verdict: Verdict) -> Table:
    """A table for the terminal; names are texts, not markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for name, words in rows(verdict):
        style = COLOURS.get(verdict.verdict, "bold") if name == "verdict" else ""
        table.add_row(Text(name), Text(words, style=style))
    return table
