"""`giusto sim`: runs a network of brokers in virtual time and shows what happened."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli.exits import guarded, say
from giusto.cli.options import Json
from giusto.errors import InvalidInput

if TYPE_CHECKING:
    from rich.table import Table

    from giusto.sim import Run, TopicFigures

EXAMPLES = """\b
Examples:
  giusto sim network.toml
  giusto sim network.toml --seed 7 --until 10min
  giusto sim network.toml --records records.parquet
  giusto sim network.toml --records trace --hops
  giusto sim network.toml --json | jq .success_rate"""

COUNTS = ("ideal", "delivered")
RARE = ("late", "expired", "overflow", "lost", "policed")
DELAYS = {"p50": "delay_p50_ns", "p99": "delay_p99_ns", "max": "delay_max_ns"}


@guarded
def sim(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="A network, described in TOML.", show_default=False)
    ],
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="What all that is random follows from.")
    ] = 0,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Publishers stop then, and not as the scenario says."),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records", metavar="PATH", help="Keep the records: a trace folder, FILE.parquet or FILE.arrow."
        ),
    ] = None,
    hops: Annotated[
        bool,
        typer.Option("--hops", help="Also a record of each link that was crossed, for link_model."),
    ] = False,
    json_output: Json = False,
) -> None:
    """Run a scenario with the broker's own schedulers, and show what became of the messages of each topic.

    The same scenario and seed give the same records on every machine. A scenario that cannot run is refused
    before anything runs, with the path of what is wrong.
    """
    from giusto.contract import duration_ns
    from giusto.sim import Scenario, run

    if records is not None:
        require_writable(records)
    elif hops:
        raise InvalidInput("--hops", "given", "--records PATH beside it, to keep them")
    end = None if until is None else f"{duration_ns(until, '--until', least_ns=1)}ns"
    described = Scenario.read(scenario)
    with waiting(f"simulating {scenario.name}"):
        kept = "hops" if hops else "deliveries"
        made = run(described, seed, until=end, records=kept if has_arrow() else "none")
    if made.counters["records_dropped"]:
        say(incomplete(made))
    if made.counters["unfinished"]:
        say(f"{made.counters['unfinished']:,} deliveries never ended, and are in no topic's figures")
    if records is not None:
        WRITERS[records.suffix](made, records)
        say(f"wrote {records}: {made.records.num_rows:,} records")
    if json_output:
        print(json.dumps(as_fields(made), indent=2, ensure_ascii=False))
    else:
        present(made)


def has_arrow() -> bool:
    """Whether records can be read here."""
    return find_spec("pyarrow") is not None


def incomplete(made: Run) -> str:
    """What is missing in the records, and so in the figures of topics."""
    kept, dropped = len(made.records), made.counters["records_dropped"]
    return f"only the first {kept:,} records were kept, and {dropped:,} were not: topics are told from those"


def require_writable(path: Path) -> None:
    """Refuse, before anything runs, a file that the records could not be written to."""
    if path.suffix not in WRITERS:
        raise InvalidInput("--records", path, "a folder, or a name that ends with .parquet or .arrow")
    if not has_arrow():
        raise InvalidInput("--records", path, "pyarrow to write it: pip install pyarrow")
    if path.suffix and path.is_dir():
        raise InvalidInput("--records", path, "a file, and this is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidInput("--records", path, "a file that can be written, in a folder that exists")


def write_parquet(made: Run, path: Path) -> None:
    """As Parquet."""
    import pyarrow.parquet as pq

    pq.write_table(made.records, path)


def write_arrow(made: Run, path: Path) -> None:
    """As an Arrow file, which is read without being copied."""
    import pyarrow as pa

    records = made.records
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, records.schema) as writer:
        writer.write_table(records)


def write_folder(made: Run, path: Path) -> None:
    """As a broker writes them."""
    made.write_trace(path)


WRITERS = {".parquet": write_parquet, ".arrow": write_arrow, "": write_folder}


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """For how long it has been going on, in a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(what, total=None)
        yield


def as_fields(made: Run) -> dict[str, object]:
    """For `--json`."""
    topics = [topic._asdict() for topic in made.topics] if has_arrow() else []
    return {**made.to_dict(), "topics": topics}


def present(made: Run) -> None:
    """A table and remarks for people."""
    from rich.text import Text

    from giusto.cli.terminal import made_console, show

    console = made_console()
    if has_arrow():
        show(table(made.topics), console)
    else:
        say("without pyarrow there are no figures of topics: pip install pyarrow")
    show(Text(str(made)), console)


def table(topics: list[TopicFigures]) -> Table:
    """A row for each topic; what happened to none has no column, so that a narrow terminal shows it whole."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    made.add_column("topic", overflow="fold")
    seen = [*COUNTS, *(name for name in RARE if any(getattr(topic, name) for topic in topics))]
    for name in (*seen, *DELAYS):
        made.add_column(name, justify="right", no_wrap=True)
    for topic in topics:
        counts = [f"{getattr(topic, name):,}" for name in seen]
        made.add_row(Text(topic.name), *counts, *(shown(getattr(topic, name)) for name in DELAYS.values()))
    return made


def shown(delay_ns: int | None) -> str:
    """A delay; a dash if nothing arrived."""
    from giusto.contract import show_ns

    return "–" if delay_ns is None else show_ns(delay_ns)
