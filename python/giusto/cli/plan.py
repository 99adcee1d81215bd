"""`giusto plan`: says before anything runs which contracts a broker can hold, and with which shares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli.exits import FAILED, guarded, say
from giusto.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from giusto.planning import Plan
    from giusto.planning.tables import Table

EXAMPLES = """\b
Examples:
  giusto plan scenario.toml
  giusto plan scenario.toml --compare
  giusto plan scenario.toml --input any --write giusto.toml
  giusto plan scenario.toml --json | jq .worst_slack_ns

Ends with 0 if every need holds, 1 if one does not, 2 if the scenario is wrong."""


@guarded
def plan(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="Topics, offers and needs in TOML.", show_default=False)
    ],
    input_stage: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="POLICY", help="twrr, smooth, fair, edf, or any: the first that holds all."
        ),
    ] = None,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Choose shares, or take them as they are.")
    ] = True,
    compare: Annotated[
        bool, typer.Option("--compare", help="Ask every policy, and how much more load each could take.")
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Write the shares as a broker's configuration."),
    ] = None,
    json_output: Json = False,
) -> None:
    """Compute the bound of every contract of a scenario, and choose the cheapest shares that hold them all.

    Shows bound, promise and slack of each contract, what cannot be held and the nearest that could, and the
    shares. Exit code 0: every need holds; 1: one does not; 2: the scenario is wrong.
    """
    from giusto.planning import plan as planned

    found = planned(scenario, input=input_stage, search=search, compare=compare)
    if write is not None:
        save(found, write)
    if json_output:
        print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        present(found)
    if not found.holds:
        raise typer.Exit(FAILED)


def save(found: Plan, path: Path) -> None:
    """The configuration; a plan that does not hold says so in it."""
    from giusto.planning import configuration

    path.write_text(configuration(found), encoding="utf-8")
    say(f"wrote {path}: giusto broker --config {path}")


def present(found: Plan) -> None:
    """Tables and remarks for people."""
    from rich.text import Text

    from giusto.cli.terminal import made_console, show
    from giusto.planning.tables import remarks, tables

    console = made_console()
    for table in tables(found):
        show(drawn(table), console)
    for remark in remarks(found):
        show(Text(remark), console)


def drawn(table: Table) -> RichTable:
    """A table for the terminal; names are texts, not markup."""
    from rich.table import Table as RichTable
    from rich.text import Text

    result = RichTable(title=table.title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in table.columns:
        result.add_column(name, justify="right" if name in table.right else "left")
    for row in table.rows:
        result.add_row(*(Text(text) for text in row))
    return result
