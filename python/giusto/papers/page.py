"""The page with every claim of every paper: published value, ours, verdict, and the figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from giusto.papers.claim import Claim, Judgement, Verdict, shown_ours, shown_published
from giusto.papers.folder import Paper
from giusto.papers.results import Outcome

HEAD = """# Papers

The published experiments that giusto builds on, run again in virtual time with the schedulers of the live
broker. `make papers` makes this page: every verdict is computed from a measured value, the published one and
a stated tolerance. A claim that does not reproduce stays, with the reason. What giusto says instead of a
printed formula is judged too, in a table of its own; the [errata](errata.md) explain it. The rows behind a
figure are in CSV files beside it. `giusto paper run KEY` runs one paper, `papers/README.md` says how one is
added.

"""


def page(runs: Iterable[tuple[Paper, Outcome]]) -> str:
    """The whole page as Markdown."""
    listed = list(runs)
    return HEAD + summary(listed) + "".join(section(paper, outcome) for paper, outcome in listed)


def summary(runs: Sequence[tuple[Paper, Outcome]]) -> str:
    """How many claims of each paper reproduce."""
    rows = [
        [
            f"[{paper.key}](#{paper.key})",
            paper.sheet.title,
            *(str(outcome.count(verdict)) for verdict in Verdict),
            str(len(outcome.corrections)),
        ]
        for paper, outcome in runs
    ]
    return table(["paper", "title", "reproduce", "do not", "not tried", "corrections shown"], rows)


def section(paper: Paper, outcome: Outcome) -> str:
    """One paper."""
    text = f"\n## {paper.key}\n\n**{paper.sheet.title}** ({paper.sheet.authors}), {paper.sheet.source}. "
    text += f"{paper.sheet.about}\n\n"
    text += table(["claim", "what", "published", "ours", "verdict"], map(claim_row, outcome.printed))
    if outcome.corrections:
        text += f"\nWhat giusto says instead, {outcome.size} size:\n\n"
        columns = ["claim", "what", "computed or expected", "simulated", "verdict"]
        text += table(columns, map(claim_row, outcome.corrections))
    text += tolerances(paper.sheet.claims)
    return text + "".join(figure(paper, each.name) for each in paper.sheet.figures)


def tolerances(claims: Iterable[Claim]) -> str:
    """Where the tolerances come from, each source once."""
    names: dict[str, list[str]] = {}
    for claim in claims:
        if claim.why:
            names.setdefault(claim.why, []).append(f"`{claim.id}`")
    lines = [f"- {', '.join(ids)}: {why}.\n" for why, ids in names.items()]
    return "\nWhere the tolerances come from:\n\n" + "".join(lines) if lines else ""


def figure(paper: Paper, name: str) -> str:
    """A picture with what to see in it."""
    drawn = next(each for each in paper.sheet.figures if each.name == name)
    path = f"papers/{paper.key}/{name}.png"
    return f"\n![{drawn.place}: {cell(drawn.caption)}]({path})\n\n*{drawn.place}.* {drawn.caption}\n"


def claim_row(judged: Judgement) -> list[str]:
    """A claim as a row."""
    claim = judged.claim
    name = f"`{claim.id}`" + (f" for `{claim.corrects}`" if claim.corrects else "")
    verdict = f"{judged.verdict}: {judged.reason}" if judged.reason else str(judged.verdict)
    return [f"{name}, {claim.place}", claim.what, shown_published(claim), shown_ours(judged), verdict]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(cell(text) for text in line) + " |\n" for line in lines)


def cell(text: str) -> str:
    """A text that does not end its cell."""
    return text.replace("|", "\\|")
