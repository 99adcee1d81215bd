"""Measure giusto beside every peer that is on this machine and write docs/benchmarks-peers.md.

Candidates are measured in turn, in many short rounds. With `--only` or `--peers` a part is measured and
nothing is written but what `--json` asks for; `--from` draws the page anew from such a file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.peers import brokers as broker_list
from benchmarks.peers import measures, page, pairs
from benchmarks.peers.aims import UNMEASURED
from benchmarks.peers.brokers import Broker, Missing
from benchmarks.peers.rounds import Job, Rounds, schedule
from benchmarks.run import ROOT, cargo_programs, machine
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from giusto._build import require_fresh, require_release
from giusto.errors import StaleExtension

PAGE = ROOT / "docs" / "benchmarks-peers.md"
ROUNDS = 10
# Columns of a log, which has no width of its own.
WIDE = 160
# From this load average on there is not a core for everybody.
BUSY = 0.7


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    names = [*(measure.name for measure in measures.MEASURES), "python"]
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often each is measured ({ROUNDS})")
    parser.add_argument("--only", nargs="+", choices=names, metavar="MEASURE", help=", ".join(names))
    parser.add_argument(
        "--peers", nargs="+", metavar="NAME", help="only those whose name starts like one of these"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every line of every round")
    parser.add_argument(
        "--from", type=Path, metavar="FILE", dest="source", help="measure nothing, use this file"
    )
    return parser.parse_args()


def jobs(load: Path, found: list[Broker], clients: list[pairs.Pair], only: list[str] | None) -> list[Job]:
    """All that is measured in one round."""
    raw = [
        Job(measure.name, broker.name, partial(measures.run, load, broker, measure))
        for measure in measures.MEASURES
        for broker in found
        if measure.covers(broker)
    ]
    python = [Job("python", pair.name, partial(pairs.run, pair, found)) for pair in clients]
    return [job for job in raw + python if only is None or job.measure in only]


def measure_all(todo: list[Job], rounds: int, console: Console) -> tuple[Rounds, bool]:
    """Run all jobs of all rounds. Ctrl-C ends it early: what was measured so far, and whether that is all."""
    measured = Rounds()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(todo) * rounds)
        try:
            for job in schedule(todo, rounds):
                progress.update(bar, description=f"{job.measure}: {job.peer}")
                line = job.run()
                measured.add(job, line)
                if "error" in line:
                    progress.console.print(
                        f"{job.measure}: {job.peer}: {line['error']}", style="red", markup=False
                    )
                progress.advance(bar)
        except KeyboardInterrupt:
            console.print("interrupted: here is what was measured so far")
            return measured, False
    return measured, True


def show(console: Console, title: str, header: list[str], rows: list[list[str]]) -> None:
    """A table for the terminal."""
    drawn = Table(title=title, title_justify="left")
    for number, name in enumerate(header):
        drawn.add_column(name, justify="right" if number else "left")
    for row in rows:
        drawn.add_row(*row)
    console.print(drawn)


def draw(measured: Rounds) -> bool:
    """The pictures, if the package that draws them is here."""
    try:
        from benchmarks.peers import picture
    except ModuleNotFoundError:
        return False
    picture.draw(measured, PAGE.parent)
    return True


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to measure with."""

    load: Path
    brokers: list[Broker]
    clients: list[pairs.Pair]
    missing: list[Missing]

    @classmethod
    def look(cls, console: Console) -> Machine:
        """Build the programs, find the peers, and say which are not here."""
        with console.status("building the load and the relay"):
            programs = {program.name: Path(program.command[0]) for program in cargo_programs()}
        found, missing = broker_list.find(programs["relay"])
        clients, without = pairs.find(found)
        for one in [*missing, *without]:
            console.print(f"{one.name} is not here: {one.remedy}", markup=False)
        return cls(programs["load"], found, clients, [*missing, *without])


@dataclass(frozen=True, slots=True)
class Occasion:
    """When it was measured, and how busy the machine was before."""

    date: str
    load_average: float

    @classmethod
    def now(cls) -> Occasion:
        return cls(datetime.datetime.now(tz=datetime.UTC).date().isoformat(), round(os.getloadavg()[0], 1))

    def warn(self, console: Console) -> None:
        """Say that figures will be noise if they will."""
        if self.load_average > BUSY:
            console.print(
                f"the machine is busy (load average {self.load_average}): expect noise", style="yellow"
            )


def measure(asked: argparse.Namespace, here: Machine, console: Console) -> tuple[Rounds, bool, Occasion]:
    """What was measured, whether that is all there is, and when: now, or in the file that was named."""
    is_whole = asked.only is None and asked.peers is None
    if asked.source is not None:
        kept = json.loads(asked.source.read_text(encoding="utf-8"))
        return Rounds(kept["measures"]), is_whole, Occasion(kept["date"], kept["load_average"])
    occasion = Occasion.now()
    occasion.warn(console)
    todo = jobs(here.load, here.brokers, here.clients, asked.only)
    chosen = [job for job in todo if asked.peers is None or job.peer.startswith(tuple(asked.peers))]
    measured, is_complete = measure_all(chosen, asked.rounds, console)
    return measured, is_whole and is_complete, occasion


def show_all(console: Console, measured: Rounds) -> None:
    """A table for each measure, then the aims that were measured."""
    for name in page.COLUMNS:
        if name in measured.lines:
            show(console, page.TITLES[name], *page.table(measured, name))
    header, rows = page.aims(measured)
    show(console, "What was aimed at", header, [row for row in rows if row[2] != UNMEASURED])


def main() -> None:
    """Look, measure, show, write."""
    asked = arguments()
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    # Ended from outside: leave by the same door as Ctrl-C, so that no broker is left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        require_fresh(ROOT)
        require_release()
    except StaleExtension as error:
        raise SystemExit(str(error)) from error
    here = Machine.look(console)
    measured, is_whole, occasion = measure(asked, here, console)
    show_all(console, measured)
    if asked.json is not None:
        kept = {**asdict(occasion), "measures": measured.lines}
        asked.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if is_whole:
        text = page.page(
            measured,
            here.brokers,
            here.missing,
            machine=f"{machine()}, with a load average of {occasion.load_average:g} before the run",
            date=occasion.date,
            pictures=draw(measured),
        )
        PAGE.write_text(text, encoding="utf-8")
        console.print(f"written to {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
