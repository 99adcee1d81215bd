"""`giusto paper`: the published experiments, run again here.

`run` has one command for each paper that is found, with the options of that paper: they are read from the
paper's own code, when it is asked for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from giusto.cli.exits import FAILED, guarded, say
from giusto.cli.options import Json
from giusto.errors import InvalidInput

if TYPE_CHECKING:
    from giusto.papers import Outcome, Paper, Size

EXAMPLES = """\b
Examples:
  giusto paper list
  giusto paper run tempo
  giusto paper run tempo --full --out figures
  giusto paper run tempo --help"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback(epilog=EXAMPLES)
def paper() -> None:
    """Run the published experiments again, and judge what the papers claim.

    The papers are a folder of the repository. They are found beside the sources that are installed, in the
    working directory, or where GIUSTO_PAPERS says.
    """


@app.command("list", epilog=EXAMPLES)
@guarded
def list_papers(json_output: Json = False) -> None:
    """Show the papers that are here: how many claims and figures, and how many reproduced last time."""
    from giusto.cli.paper.tables import papers_table, summaries
    from giusto.cli.terminal import show
    from giusto.papers import found

    papers = found()
    if json_output:
        print(json.dumps(summaries(papers), indent=2, ensure_ascii=False))
    else:
        show(papers_table(papers))


@app.command("page", epilog=EXAMPLES)
@guarded
def page(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write papers.md and the figures into this folder.")
    ],
    full: Annotated[bool, typer.Option("--full/--small", help="As much as the papers did, or less.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="KEY", help="Run this paper; of the others show what was kept."),
    ] = None,
    kept: Annotated[
        bool,
        typer.Option(
            "--kept", help="Run nothing: show what was kept; figures are those that DIR has already."
        ),
    ] = False,
) -> None:
    """Run every paper and write the page with all claims and figures.

    A full run also keeps its results beside the claims of each paper. Exit code 1: a claim does not
    reproduce and nobody has said why.
    """
    from giusto.papers import Size, find, found
    from giusto.papers.page import page as made_page

    asked = [find(key).key for key in only or ()]
    size = Size.FULL if full else Size.SMALL
    runs = [
        (each, kept_outcome(each) if kept or (asked and each.key not in asked) else page_run(each, size, out))
        for each in found()
    ]
    out.mkdir(parents=True, exist_ok=True)
    (out / "papers.md").write_text(made_page(runs), encoding="utf-8")
    say(f"wrote {out / 'papers.md'}")
    end([outcome for _, outcome in runs])


def page_run(chosen: Paper, size: Size, out: Path) -> Outcome:
    """A run whose figures belong to the page; a full one is kept at once, whatever the next paper does."""
    from giusto.papers.results import keep

    outcome = judged(chosen, size, out / "papers" / chosen.key)
    if size == "full":
        keep(outcome, chosen.folder)
    return outcome


def kept_outcome(chosen: Paper) -> Outcome:
    """What was kept of a paper."""
    if chosen.outcome is None:
        raise InvalidInput("paper", chosen.key, "results that were kept: run it with --full first")
    return chosen.outcome


class Papers(TyperGroup):
    """A command for each paper, made when somebody asks for it."""

    def list_commands(self, ctx: Any) -> list[str]:
        from giusto.papers import found

        return [each.key for each in guarded(found)()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from giusto.cli.paper.command import command_of

        return guarded(command_of)(cmd_name)


runs = typer.Typer(cls=Papers, no_args_is_help=True, rich_markup_mode=None)


@runs.callback()
def run_group() -> None:
    """Run one paper: all of it, or a single run if an option of its own is given."""


app.add_typer(runs, name="run", epilog=EXAMPLES)


def judged(chosen: Paper, size: Size, out: Path | None, only: str | None = None) -> Outcome:
    """A run of a paper, with a bar on stderr."""
    from giusto.cli.paper.progress import bar
    from giusto.papers import run

    with bar(f"{chosen.key} ({size})") as progress:
        outcome = run(chosen, size, out=out, only=only, progress=progress)
    say(f"{chosen.key}: {len(outcome.judgements)} claims in {outcome.seconds:.1f} s")
    return outcome


def end(outcomes: list[Outcome]) -> None:
    """Fail if somebody has to look."""
    from giusto.cli.exits import complain

    unexplained = [f"{each.key}/{one.claim.id}" for each in outcomes for one in each.unexplained]
    if unexplained:
        complain(f"these claims do not reproduce, and claims.toml gives no reason: {', '.join(unexplained)}")
        raise typer.Exit(FAILED)
