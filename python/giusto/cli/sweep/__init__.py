"""`giusto sweep`: many runs of one experiment on all cores, and what they found."""

from __future__ import annotations

import typer

from giusto.cli.sweep import run, show

EXAMPLES = """\b
Examples:
  giusto sweep run waiting --param policy=twrr,fair --param load=0.5,0.9 --seeds 20 --out waiting-sweep
  giusto sweep show waiting-sweep

`giusto sweep run --help` and `giusto sweep show --help` say more."""

sweep = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run an experiment once for each combination of parameters, on all cores or on a cluster.",
    epilog=EXAMPLES,
)
sweep.command("run", epilog=run.EXAMPLES, short_help="Run a sweep, or go on with one.")(run.run)
sweep.command("show", epilog=show.EXAMPLES, short_help="Show what a sweep found.")(show.show)
