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

if TYPE_CHECKING:
    from giusto.papers import Outcome, Paper

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
) -> None:
    """Run every paper and write the page with all claims and figures.

    A full run also keeps its results beside the claims of each paper. Exit code 1: a claim does not
    reproduce and nobody has said why.
    """
    from giusto.papers import Size, found
    from giusto.papers import page as pages
    from giusto.papers.results import keep

    size = Size.FULL if full else Size.SMALL
    runs = [(each, judged(each, size, out / "papers" / each.key)) for each in found()]
    for each, outcome in runs if full else ():
        keep(outcome, each.folder)
    (out / "papers.md").write_text(pages.page(runs), encoding="utf-8")
    say(f"wrote {out / 'papers.md'}")
    end([outcome for _, outcome in runs])


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


def judged(chosen: Paper, size: Any, out: Path | None, only: str | None = None) -> Outcome:
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
