"""`giusto broker`: serves clients until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from giusto.cli.exits import guarded

EXAMPLES = """\b
Examples:
  giusto broker
  giusto broker --config giusto.toml
  giusto broker --listen tcp://0.0.0.0:7447 --listen unix:///run/giusto.sock
  giusto broker --input fair --mode time --period 1ms --budget 600us
  giusto broker --trace records
  giusto broker --fifo 50 --cpus 2 --lock-memory

Settings come from the file, then from variables such as GIUSTO_BROKER_LISTEN, then from options;
the last one counts. The line `ready URL` on stdout says that clients can connect."""


@guarded
def broker(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="Settings in TOML.")
    ] = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="tcp://host:port, udp://host:port or unix:///path; may be repeated. Port 0: any.",
        ),
    ] = None,
    input_stage: Annotated[
        str | None,
        typer.Option("--input", metavar="POLICY", help="Who is served next: twrr, smooth, fair or edf."),
    ] = None,
    output_stage: Annotated[
        str | None,
        typer.Option("--output", metavar="POLICY", help="What goes out next: fifo, priority, lrt or mtep."),
    ] = None,
    overflow: Annotated[
        str | None,
        typer.Option(metavar="POLICY", help="For slow subscribers: drop_oldest, drop_new or disconnect."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="load: serve when there is work. time: serve at fixed times."),
    ] = None,
    period: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --mode time: how often it serves, such as 1ms.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --mode time: for how long each time, such as 600us."),
    ] = None,
    fifo: Annotated[
        int | None,
        typer.Option(metavar="1-99", help="Run the data thread under SCHED_FIFO with this priority."),
    ] = None,
    cpus: Annotated[
        str | None, typer.Option(metavar="CPUS", help="Run the data thread on these CPUs, such as 2 or 2-3.")
    ] = None,
    lock_memory: Annotated[
        bool | None, typer.Option("--lock-memory", help="Keep all memory from being paged out.")
    ] = None,
    busy_poll: Annotated[
        bool | None, typer.Option("--busy-poll", help="Never sleep: lowest delay for one whole CPU.")
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a record of every delivery to Parquet files in this folder."),
    ] = None,
) -> None:
    """Run a broker until SIGTERM or Ctrl-C; then send what waits and end.

    Listens on 127.0.0.1:7447 unless told otherwise. Says at start what it got of the real-time options,
    and what it was refused.
    """
    from giusto.broker import serve
    from giusto.config import load
    from giusto.steward import attend

    flags: dict[str, object] = {
        "broker.listen": listen,
        "broker.input": input_stage,
        "broker.output": output_stage,
        "broker.overflow": overflow,
        "broker.mode": mode,
        "broker.period": period,
        "broker.budget": budget,
        "realtime.priority": fifo,
        "realtime.cpus": cpus,
        "realtime.lock_memory": lock_memory,
        "realtime.busy_poll": busy_poll,
        "trace.folder": None if trace is None else str(trace),
    }
    raise typer.Exit(serve(load(config, flags=flags), attend))
