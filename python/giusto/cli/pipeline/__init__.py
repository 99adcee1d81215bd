"""`giusto pipeline`: records become tables and a verdict."""

from __future__ import annotations

import typer

from giusto.cli.pipeline import run

EXAMPLES = """\b
Examples:
  giusto pipeline run --records trace
  giusto pipeline run --records trace --stream

`giusto pipeline run --help` says more."""

pipeline = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Turn the records of a run into tables, and audit every delivery against its contract.",
    epilog=EXAMPLES,
)


@pipeline.callback()
def group() -> None:
    """A group, also while it has one command."""


pipeline.command("run", epilog=run.EXAMPLES, short_help="Make the tables and the verdict.")(run.run)
