"""How the verdict looks: a few lines that a person reads first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from giusto.pipeline.verdict import Verdict

COLOURS = {"held": "bold green", "violated": "bold red", "uncertain": "bold yellow"}


def rows(verdict: Verdict) -> list[tuple[str, str]]:
    """What is said, in the order of what matters."""
    found = [
        ("verdict", headline(verdict)),
        ("deliveries", f"{verdict.deliveries:,} of {verdict.records:,} records"),
        ("contracts", contracts(verdict)),
        ("lost", counted(verdict.losses)),
        ("left out", left_out(verdict)),
    ]
    if verdict.dropped:
        found.append(("not traced", counted(verdict.dropped)))
    if not verdict.complete:
        late = verdict.quarantined.get("late", 0)
        told = f"{late:,} records came too late: give a longer --delay, or run with --once"
        found.append(("not complete", told))
    if verdict.pending:
        found.append(("waiting", f"{verdict.pending:,} records of slices that have not ended"))
    if verdict.forgotten:
        found.append(("not kept", f"{verdict.forgotten:,} deliveries that were older than --keep"))
    return found


def headline(verdict: Verdict) -> str:
    """The verdict in a sentence."""
    if not verdict.used:
        return "nothing to judge: there was no record that could be used"
    match verdict.verdict:
        case "violated":
            return f"violated: {verdict.violations:,} deliveries were later than their bound"
        case "uncertain":
            return f"held as far as the clocks tell: {verdict.uncertain:,} deliveries are within their error"
        case "held":
            return "held: no delivery was later than its bound"
    return "no promises: no delivery had a bound"


def contracts(verdict: Verdict) -> str:
    """How many, and how near they came."""
    parts = [f"{verdict.contracts:,}"]
    if verdict.largest_ratio is not None:
        parts.append(f"largest observed/bound {verdict.largest_ratio:.1%}")
    if verdict.misses:
        parts.append(f"{verdict.misses:,} deadlines missed")
    return ", ".join(parts)


def left_out(verdict: Verdict) -> str:
    """Duplicates and what is in quarantine."""
    parts = [f"{verdict.duplicates:,} duplicates"] if verdict.duplicates else []
    parts += [f"{count:,} {reason}" for reason, count in verdict.quarantined.items() if count]
    files = sum(verdict.quarantined_files.values())
    if files:
        parts.append(f"{files:,} files ({', '.join(sorted(verdict.quarantined_files))})")
    return ", ".join(parts) or "nothing"


def counted(counts: dict[str, int]) -> str:
    """`12 policed, 3 overflow`."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "nothing"


def drawn(verdict: Verdict) -> Table:
    """A table for the terminal; names are texts, not markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for name, said in rows(verdict):
        style = COLOURS.get(verdict.verdict, "bold") if name == "verdict" else ""
        table.add_row(Text(name), Text(said, style=style))
    return table
