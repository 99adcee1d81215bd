"""`giusto top`: looks at a broker again and again, and shows what happened in between."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli import options
from giusto.cli.exits import guarded
from giusto.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from giusto.cli.activity import Activity

EXAMPLES = """\b
Examples:
  giusto top
  giusto top --once
  giusto top --interval 5s --json | jq '.topics[] | {topic, p99_ns}'"""

TOPIC_COLUMNS = ("topic", "pub→sub", "rate", "p50", "p99", "max", "bound", "promise", "dropped")
# What is left out, one after the other, where names have less room than NAME_LEAST.
LESS = ("p50", "promise", "bound", "sure of", "max", "waiting")
NAME_LEAST = 16
LAST_LEAST = 16
GAP, EDGES = 3, 2
CLIENT_COLUMNS = ("client", "served", "θ", "sure of", "waiting", "dropped")


@guarded
def top(
    address: options.Address = options.ADDRESS,
    interval: Annotated[str, typer.Option("--interval", "-i", metavar="TIME", help="Look so often.")] = "1s",
    count: Annotated[
        int | None, typer.Option("--count", "-n", metavar="N", help="End after so many looks.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="One look, with rates since the broker started.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per look.")] = False,
) -> None:
    """Show the topics and clients of a broker, live.

    For each topic: publishers and subscribers, messages per second, delay within the broker (from arrival to
    departure, since it started), the largest bound and the tightest promise, and what was dropped by reason.
    For each client: θ, its part of what the input stage served, and the part that it is sure of. Models
    of what was measured have a line each, unless they change nothing.
    """
    from giusto.cli.activity import activity, as_fields
    from giusto.cli.terminal import columns, screen
    from giusto.client import connect
    from giusto.contract import duration_ns

    if count is not None and (once or count < 1):
        raise InvalidInput("--count", count, "either --once or --count" if once else "at least 1")
    interval_ns = duration_ns(interval, "--interval", least_ns=10_000_000)
    with (
        connect(address, name=f"giusto-top-{os.getpid()}") as bus,
        screen(live=not once and not as_json) as show,
    ):
        before = None if once else bus.status()
        looks = 1 if once else count
        while looks is None or looks > 0:
            if before is not None:
                time.sleep(interval_ns / 1e9)
            now = bus.status()
            seen = activity(now, before)
            if as_json:
                print(json.dumps(as_fields(seen), ensure_ascii=False), flush=True)
            else:
                show(tables(seen, columns()))
            before, looks = now, None if looks is None else looks - 1


def tables(seen: Activity, width: int) -> RenderableType:
    """A line about the broker, its topics, its clients, in so many columns."""
    from rich.console import Group
    from rich.text import Text

    from giusto.cli.activity import client_cells, model_lines, show_losses, topic_cells
    from giusto.contract import show_ns

    head = f"run {seen.run[:8]}, up {show_ns(seen.uptime_ns)}, input {seen.input}, output {seen.output}"
    topics = table(*fitted(TOPIC_COLUMNS, [topic_cells(row) for row in seen.topics], width))
    clients = table(*fitted(CLIENT_COLUMNS, [client_cells(row) for row in seen.clients], width))
    lost = [Text(f"{what}: {show_losses(counts)}") for what, counts in seen.apart.items()]
    models = [Text(line) for line in model_lines(seen)]
    return Group(Text(head), *lost, *models, topics, clients)


def fitted(
    columns: tuple[str, ...], rows: list[list[str]], width: int
) -> tuple[tuple[str, ...], list[list[str]]]:
    """What has room: columns that matter less go first, then names are cut."""
    less = iter(LESS)
    while (room := name_room(columns, rows, width)) < NAME_LEAST and (out := next(less, None)) is not None:
        kept = [place for place, column in enumerate(columns) if column != out]
        columns = tuple(columns[place] for place in kept)
        rows = [[row[place] for place in kept] for row in rows]
    return columns, [[shortened(row[0], max(room, NAME_LEAST)), *row[1:]] for row in rows]


def name_room(columns: tuple[str, ...], rows: list[list[str]], width: int) -> int:
    """How wide the first column may be. The last one can be folded."""
    widest = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    return width - sum(widest[1:-1]) - min(widest[-1], LAST_LEAST) - GAP * (len(columns) - 1) - EDGES


def shortened(name: str, room: int) -> str:
    """A name that has no room loses its middle: both ends tell what it is."""
    if len(name) <= room:
        return name
    end = (room - 1) // 2
    return f"{name[: room - 1 - end]}…{name[len(name) - end :]}"


def table(columns: tuple[str, ...], rows: list[list[str]]) -> RenderableType:
    """A plain table: names to the left, numbers to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        ends = number in (0, len(columns) - 1)
        made.add_column(column, justify="left" if ends else "right", no_wrap=not ends, overflow="fold")
    for row in rows:
        # A name is no markup: `a[/b]` is a topic.
        made.add_row(*map(Text, row))
    return made
