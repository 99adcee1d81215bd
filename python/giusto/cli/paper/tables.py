"""How papers and verdicts look in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.papers import Outcome, Paper, Verdict
from giusto.papers.claim import shown_ours, shown_published

if TYPE_CHECKING:
    from rich.table import Table

COLOURS = {Verdict.REPRODUCES: "green", Verdict.DOES_NOT: "yellow", Verdict.NOT_TRIED: "dim"}


def summaries(papers: Sequence[Paper]) -> list[dict[str, Any]]:
    """The papers for programs; what is not known yet is null."""
    return [summary(paper) for paper in papers]


def summary(paper: Paper) -> dict[str, Any]:
    """One paper; corrections are counted apart from what it claims."""
    outcome, claims = paper.outcome, paper.sheet.claims
    return {
        "key": paper.key,
        "title": paper.sheet.title,
        "claims": sum(not claim.corrects for claim in claims),
        "corrections": sum(bool(claim.corrects) for claim in claims),
        "figures": len(paper.sheet.figures),
        "reproduce": None if outcome is None else outcome.count(Verdict.REPRODUCES),
        "do_not": None if outcome is None else outcome.count(Verdict.DOES_NOT),
        "not_tried": None if outcome is None else outcome.count(Verdict.NOT_TRIED),
    }


def papers_table(papers: Sequence[Paper]) -> Table:
    """Key, title, claims and figures of each paper."""
    table = made(["key", "title", "claims", "figures", "reproduce", "do not", "not tried"])
    for row in summaries(papers):
        names = ("key", "title", "claims", "figures", "reproduce", "do_not", "not_tried")
        table.add_row(*("–" if row[name] is None else str(row[name]) for name in names))
    return table


def claims_table(outcome: Outcome) -> Table:
    """Every claim with what was measured; a correction stands under its own name."""
    from rich.text import Text

    table = made(["claim", "place", "published", "ours", "verdict"])
    for judged in [*outcome.printed, *outcome.corrections]:
        claim = judged.claim
        verdict = f"{judged.verdict}: {judged.reason}" if judged.reason else str(judged.verdict)
        table.add_row(
            Text(claim.id),
            Text(claim.place),
            Text(shown_published(claim)),
            Text(shown_ours(judged)),
            Text(verdict, style=COLOURS[judged.verdict]),
        )
    return table


def figures_line(outcome: Outcome, out: Path | None) -> str:
    """Where to look, or how to get something to look at."""
    if out is None:
        return "figures and tables: add --out DIR"
    pictures = sum(path.suffix == ".png" for path in outcome.files)
    return f"wrote {pictures} figures, their tables and results.json to {out}"


def made(columns: Sequence[str]) -> Table:
    """A plain table."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
