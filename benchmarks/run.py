"""Run every benchmark program and write what they measured to docs/benchmarks.md.

A program is a file `src/bin/<name>.rs`, or `<name>.py` beside this one. It prints one JSON line per
figure, `{"bench": …, "case": …, "value": …, "unit": …}`, and compares within one run. Cases called
`row | column` become a table with those rows and columns. With names as arguments only those programs
run, and nothing is written.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from giusto._build import require_fresh, require_release
from giusto.errors import NotInstalled, StaleExtension
from giusto.pipeline.prerequisites import require_spark

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
PAGE = ROOT / "docs" / "benchmarks.md"
# Programs that print no figures of their own: `make bench-peers` uses them.
TOOLS = {"load", "relay"}
# Programs that need Spark; where it cannot run they are left out, and it is said so.
ON_SPARK = {"source", "sweep"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a program's output."""

    bench: str
    case: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Aim:
    """What a figure should be: at least or at most `limit`."""

    title: str
    bench: str
    case: str
    limit: float
    at_most: bool = False

    def figure(self, measured: dict[str, list[Figure]]) -> Figure | None:
        """The figure that tells, if it was measured."""
        every = (figure for found in measured.values() for figure in found)
        return next(
            (figure for figure in every if (figure.bench, figure.case) == (self.bench, self.case)), None
        )

    def row(self, measured: dict[str, list[Figure]]) -> list[str]:
        """A line of the table of aims."""
        figure = self.figure(measured)
        assert figure is not None
        kept = figure.value <= self.limit if self.at_most else figure.value >= self.limit
        wanted = f"{'≤' if self.at_most else '≥'} {readable(self.limit)} {figure.unit}"
        return [self.title, wanted, readable(figure.value), "yes" if kept else "**no**"]


AIMS = [
    *(
        aim
        for policy in ("twrr", "fair")
        for aim in (
            Aim(f"{policy}: enqueue + dequeue, 100 clients × 1,000 topics, all busy", "scheduling",
                f"{policy}, all | 1000 topics", 5),
            Aim(f"{policy}: 10,000 topics against 10, the same 1,000 busy flows", "scheduling",
                f"{policy}, active | 10000 against 10", 1.5, at_most=True),
            Aim(f"{policy}: 10,000 topics against 10, every flow busy (a million flows against a thousand)",
                "scheduling", f"{policy}, all | 10000 against 10", 1.5, at_most=True),
        )
    ),
    *(
        Aim(f"matching: {load}, 100,000 selective subscriptions", "matching",
            f"{load}, 100000 subscriptions | scan to index", 50)
        for load in ("stock", "prefix", "range", "mixed")
    ),
    Aim("memory: idle (client, topic) pair", "memory",
        "idle (client, topic) pair, policed", 128, at_most=True),
    Aim("memory: 1 million queued messages of 128 bytes", "memory",
        "1 million queued messages of 128 bytes", 250, at_most=True),
    Aim("simulator: 128 brokers, rate 1, mtep, two hours (S1 section 3)", "network",
        "128 brokers, 640 subscriptions, mtep, two hours", 1, at_most=True),
    Aim("simulator: plain chain, hop events", "network", "chain of 100 links, first come first served", 10),
    Aim("import giusto", "import", "import giusto, added", 100, at_most=True),
    Aim("tracing every message: throughput that it costs", "tracing",
        "throughput that tracing costs", 5, at_most=True),
    Aim("tracing every message: time of the data thread that it costs", "tracing",
        "data thread's time that tracing costs", 5, at_most=True),
    Aim("tracing every message of 64 topics: throughput that it costs", "tracing",
        "64 topics: throughput that tracing costs", 5, at_most=True),
    Aim("tracing every message of 64 topics: time of the data thread that it costs", "tracing",
        "64 topics: data thread's time that tracing costs", 5, at_most=True),
    *(
        Aim(f"admission: {policy}, one more contract into 10,000 (1,000 topics, 10,000 publishers)",
            "admission", f"10,000 contracts, 1,000 topics, 10,000 publishers | {policy}", 10, at_most=True)
        for policy in ("twrr", "smooth", "fair", "edf")
    ),
    *(
        Aim(f"plan: {policy}, shares found for 100 topics, 50 clients, 1,000 flows",
            "plan", f"100 topics, 50 clients, 1,000 flows | {policy}", 5, at_most=True)
        for policy in ("twrr", "smooth", "fair", "edf")
    ),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Program:
    """A benchmark program that can be started."""

    name: str
    command: tuple[str, ...]


def cargo_programs() -> list[Program]:
    """Build the Rust programs as a release build and list them."""
    command = ["cargo", "build", "--quiet", "--release", "--package", "giusto-benchmarks", "--bins"]
    built = subprocess.run(
        [*command, "--message-format=json-render-diagnostics"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return [
        Program(message["target"]["name"], (message["executable"],))
        for message in messages
        if message["reason"] == "compiler-artifact" and message["executable"]
    ]


def build() -> list[Program]:
    """The Rust programs that print figures."""
    return [program for program in cargo_programs() if program.name not in TOOLS]


def python_programs() -> list[Program]:
    """The programs beside this file."""
    left_out = set() if spark_runs() else ON_SPARK
    scripts = (path for path in FOLDER.glob("*.py") if path != Path(__file__) and path.stem not in left_out)
    return [Program(path.stem, (sys.executable, str(path))) for path in scripts]


def spark_runs() -> bool:
    """Whether programs that need Spark can be measured here."""
    try:
        require_spark()
    except NotInstalled as error:
        print(f"left out: {', '.join(sorted(ON_SPARK))} ({error})", file=sys.stderr)
        return False
    return True


def figures(lines: Iterable[str]) -> list[Figure]:
    """What a program printed, checked line by line."""
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
            figure = Figure(fields["bench"], fields["case"], float(fields["value"]), fields["unit"])
        except (ValueError, KeyError, TypeError) as error:
            raise SystemExit(f"line {number} is not a figure ({error!r}): {line.rstrip()}") from error
        found.append(figure)
    return found


def measure(programs: list[Program], console: Console) -> dict[str, list[Figure]]:
    """Run the programs one after the other, alone on the machine as far as we can tell."""
    measured = {}
    for number, program in enumerate(programs, start=1):
        with console.status(f"{program.name} ({number} of {len(programs)})"):
            run = subprocess.run(program.command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit(f"{program.name} failed with status {run.returncode}")
        measured[program.name] = figures(run.stdout.splitlines())
        if not measured[program.name]:
            raise SystemExit(f"{program.name} printed no figure")
        for bench in by_bench(measured[program.name]).items():
            console.print(table(*bench))
    return measured


def by_bench(found: list[Figure]) -> dict[str, list[Figure]]:
    """Figures grouped by benchmark, in the order in which they were printed."""
    groups: dict[str, list[Figure]] = {}
    for figure in found:
        groups.setdefault(figure.bench, []).append(figure)
    return groups


def grid(found: list[Figure]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a bench: one row per case, or the rows and columns that its cases name."""
    if not all(" | " in figure.case for figure in found):
        rows = [[figure.case, readable(figure.value), figure.unit] for figure in found]
        return ["case", "value", "unit"], rows
    columns: dict[str, None] = {}
    cells: dict[str, dict[str, str]] = {}
    for figure in found:
        row, column = figure.case.split(" | ", 1)
        title = f"{column}, {figure.unit}"
        columns[title] = None
        cells.setdefault(row, {})[title] = readable(figure.value)
    return ["case", *columns], [
        [row, *(own.get(title, "") for title in columns)] for row, own in cells.items()
    ]


def table(bench: str, found: list[Figure]) -> Table:
    """One benchmark for the terminal."""
    header, rows = grid(found)
    drawn = Table(title=bench, title_justify="left")
    for number, title in enumerate(header):
        drawn.add_column(title, justify="left" if number == 0 or title == "unit" else "right")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def readable(value: float) -> str:
    """Three significant digits, or all digits of a large whole part."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def page(measured: dict[str, list[Figure]], *, machine: str, date: str) -> str:
    """The document: one table per benchmark, with the command that makes it."""
    parts = [
        "# Benchmarks",
        f"Measured on {date} on {machine}. `make bench` measures again and rewrites this page.",
        "Compare ratios: they are taken within one run. Absolute figures belong to this machine. "
        "For giusto against NATS, Redis, Mosquitto, zenoh and others see "
        "[Beside other brokers](benchmarks-peers.md).",
    ]
    reached = [aim.row(measured) for aim in AIMS if aim.figure(measured) is not None]
    if reached:
        parts += ["## What was aimed at", markdown(["aim", "wanted", "measured", "reached"], reached)]
    for program, found in measured.items():
        for bench, rows in by_bench(found).items():
            parts.append(f"## {bench}")
            parts.append(f"`.venv/bin/python benchmarks/run.py {program}`")
            parts.append(markdown(*grid(rows)))
    return "\n\n".join(parts) + "\n"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table; numbers to the right."""
    rule = "|" + "|".join("---" if title in {"case", "unit", "aim"} else "---:" for title in header) + "|"
    return "\n".join(
        ["| " + " | ".join(header) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)]
    )


def machine() -> str:
    """The processor, how many cores of it we see, and the compiler."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = named[0] if named else platform.processor() or platform.machine()
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    version = rustc.stdout.split()[1]
    return f"{model} ({os.cpu_count()} cores), rustc {version}, Python {platform.python_version()}"


def chosen(programs: list[Program], names: list[str]) -> list[Program]:
    """The programs of these names, all if there are none."""
    known = {program.name: program for program in sorted(programs, key=lambda program: program.name)}
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names or known]


def main() -> None:
    """Measure, show, and write the page."""
    parser = argparse.ArgumentParser(description="measure speed and write docs/benchmarks.md")
    parser.add_argument("names", nargs="*", help="programs to run; all, and write the page, if none")
    names = parser.parse_args().names
    try:
        require_fresh(ROOT)
        require_release()
    except StaleExtension as error:
        raise SystemExit(str(error)) from error

    console = Console()
    with console.status("building the benchmark programs"):
        programs = chosen([*build(), *python_programs()], names)
    measured = measure(programs, console)
    if not names:
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        PAGE.write_text(page(measured, machine=machine(), date=today), encoding="utf-8")
        console.print(f"written to {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
