"""`giusto views`: who publishes and who receives which topics of a broker, and with which shares."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli import options
from giusto.cli.exits import guarded

if TYPE_CHECKING:
    from rich.console import RenderableType

    from giusto.protocol import ShareTerms, ViewsAre

EXAMPLES = """\b
Examples:
  giusto views
  giusto views 'ward/+/alarm'
  giusto views --json | jq '.matrix_in'"""

COLUMNS = ("topic", "W", "publishers", "subscribers")


@guarded
def views(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="Only topics that this covers.")] = "#",
    address: options.Address = options.ADDRESS,
    as_json: Annotated[bool, typer.Option("--json", help="Print the matrices as a JSON object.")] = False,
) -> None:
    """Show W, MatrixIN and MatrixOUT of a broker: shares of topics, who publishes and who receives them.

    People see a row for each topic. `--json` prints the matrices: a row for each client, a column for each
    topic. At most 64 topics and 256 clients are shown; it is said how many more there are.
    """
    from giusto.cli.terminal import show
    from giusto.client import connect

    with connect(address, name=f"giusto-views-{os.getpid()}") as bus:
        seen = bus.views(pattern)
    if as_json:
        print(json.dumps(as_fields(seen), ensure_ascii=False))
    else:
        show(page(seen))


def page(seen: ViewsAre) -> RenderableType:
    """A row for each topic, and what was left out."""
    from rich.console import Group
    from rich.text import Text

    from giusto.cli.top import table

    counts = {"topics": seen.topics_more, "clients": seen.clients_more}
    left_out = [f"{count:,} more {what} are not shown" for what, count in counts.items() if count]
    return Group(table(COLUMNS, rows(seen)), *map(Text, left_out))


def rows(seen: ViewsAre) -> list[list[str]]:
    """The cells of each topic: its share, the names in its column of MatrixIN, and of MatrixOUT."""
    return [
        [
            topic,
            show_share(share),
            names(seen.clients, seen.matrix_in, n),
            names(seen.clients, seen.matrix_out, n),
        ]
        for n, (topic, share) in enumerate(zip(seen.topics, seen.shares, strict=True))
    ]


def names(clients: list[str], matrix: list[list[int]], column: int) -> str:
    """The clients that have a 1 in a column; a dash if none has."""
    return ", ".join(client for client, row in zip(clients, matrix, strict=True) if row[column]) or "–"


def show_share(share: ShareTerms) -> str:
    """What was allotted; a dash for the share that all have who were not given another."""
    return ", ".join(f"{name} {value}" for name, value in allotted(share).items()) or "–"


def allotted(share: ShareTerms) -> dict[str, int]:
    """The terms of a share that were given."""
    given = {name: getattr(share, name) for name in share.__struct_fields__}
    return {name: value for name, value in given.items() if value is not None}


def as_fields(seen: ViewsAre) -> dict[str, object]:
    """The same for `--json`."""
    return {
        "topics": seen.topics,
        "clients": seen.clients,
        "w": [allotted(share) for share in seen.shares],
        "matrix_in": seen.matrix_in,
        "matrix_out": seen.matrix_out,
        "topics_more": seen.topics_more,
        "clients_more": seen.clients_more,
    }
