"""`giusto top`: looks at a broker again and again, and shows what happened in between."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli import options
from giusto.cli.exits import guarded

if TYPE_CHECKING:
    from rich.console import RenderableType

    from giusto.cli.activity import Activity

EXAMPLES = """\b
Examples:
  giusto top
  giusto top --once
  giusto top --interval 5s --json | jq '.topics[] | {topic, p99_ns}'"""

TOPIC_COLUMNS = ("topic", "pub→sub", "rate", "p50", "p99", "max", "bound", "promise", "dropped")
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
    For each client: θ, its part of what the input stage served, and the part that it is sure of.
    """
    from giusto.cli.activity import activity, as_fields
    from giusto.cli.terminal import screen
    from giusto.client import connect
    from giusto.contract import duration_ns

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
                show(tables(seen))
            before, looks = now, None if looks is None else looks - 1


def tables(seen: Activity) -> RenderableType:
    """A line about the broker, its topics, its clients."""
    from rich.console import Group
    from rich.text import Text

    from giusto.cli.activity import client_cells, show_losses, topic_cells
    from giusto.contract import show_ns

    head = f"run {seen.run[:8]}, up {show_ns(seen.uptime_ns)}, input {seen.input}, output {seen.output}"
    topics = table(TOPIC_COLUMNS, [topic_cells(row) for row in seen.topics])
    clients = table(CLIENT_COLUMNS, [client_cells(row) for row in seen.clients])
    lost = [Text(f"{what}: {show_losses(counts)}") for what, counts in seen.apart.items()]
    return Group(Text(head), *lost, topics, clients)


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
