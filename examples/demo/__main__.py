"""The whole of it: contracts, a flood that breaks none of them, and an audit of every delivery.

A broker and four clients run as processes of their own. Alarms and vital signs are under contract; a third
contract is refused, because nobody could keep it, and gets the nearest one; images come in bulk and have a
deadline. Then a camera breaks its offer and floods the broker for some seconds, on a second topic without
any offer at all ([Tempo] Fig. 11 and 12, with today's rates). The broker keeps a record of every message.
In the end every promise stands beside the worst that was seen, and Spark looks at the records, gives its
verdict, and leaves a report: its path is the last line.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from account import Kept, account, judge, summary
from audit import audit, possible
from live import Client, Witness, process, watch
from rich.console import Console
from ward import ROLES

import giusto


def ask_too_much(console: Console, address: str) -> None:
    """A contract that cannot be kept is refused, and the nearest one is granted."""
    with giusto.connect(address, name="impatient") as bus:
        try:
            bus.subscribe("ward/3/alarm", giusto.Need(max_latency="100us"))
        except giusto.Refused as refused:
            console.print(f"[bold]impatient[/] wants 100 µs. [red]Refused[/]: {refused}")
            nearest = refused.nearest or giusto.Nearest()
            need = giusto.Need(max_latency=f"{nearest.max_latency_ns}ns")
            console.print(f"[bold]impatient[/] takes that. {bus.subscribe('ward/3/alarm', need).verdict}\n")


def play(console: Console, records: Path) -> tuple[list[Client], dict[str, Kept], Witness]:
    """The ward, live."""
    with ExitStack() as stack:
        options = ("--listen", "tcp://127.0.0.1:0", "--trace", str(records))
        broker = stack.enter_context(process("-m", "giusto", "broker", *options))
        address = (broker.stdout or iter("")).readline().split()[-1]
        start_ns = time.monotonic_ns() + 3_000_000_000
        clients = [Client(name, address, start_ns, stack) for name in ROLES]
        for one in clients:
            console.print(f"[bold]{one.name}[/] on {one.role.topic}. {one.verdict}")
        ask_too_much(console, address)
        witness = Witness()
        watch(console, clients, address, start_ns)
        witness.stop()
        return clients, account(address), witness


def main(folder: str | None = None) -> int:
    """Play and audit; the records go to `folder`, or to a temporary one that stays."""
    console = Console()
    console.print("\n[bold]giusto[/]: a broker, a ward of clients, and one of them will flood it.\n")
    records = Path(folder or tempfile.mkdtemp(prefix="giusto-demo-"))
    clients, found, witness = play(console, records)
    console.print()
    console.print(summary(clients, found))
    held = judge(console, clients, found, witness)
    if possible(console):
        held &= audit(console, records, witness)
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
