"""`giusto report`: writes one HTML file on the tables of a pipeline's run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from giusto.cli.exits import guarded

EXAMPLES = """\b
Examples:
  giusto report traces/tables
  giusto report traces
  giusto report traces --out ward-3.html"""


@guarded
def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="The tables of `giusto pipeline run`, or its records.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write it there, and not beside the tables."),
    ] = None,
) -> None:
    """Write the verdict on a run, with its contracts, latencies, shares and losses, as one HTML file.

    The file needs nothing else: no network, no Spark. The path of it is printed.
    """
    from giusto.report import write

    print(write(folder, out))
