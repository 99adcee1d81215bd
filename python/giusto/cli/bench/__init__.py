"""`giusto bench`: how long messages take through a broker, and how many a second it forwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer

from giusto.cli import options
from giusto.cli.exits import guarded
from giusto.errors import GiustoError, InvalidInput

EXAMPLES = """\b
Examples:
  giusto bench --local
  giusto bench --rate 5000/s --duration 10s --json
  giusto bench --rate max --size 128 --batch 64"""


@guarded
def bench(
    context: typer.Context,
    address: options.Address = options.ADDRESS,
    local: Annotated[
        bool,
        typer.Option("--local", help="Measure a broker that is started for it, instead of one at --address."),
    ] = False,
    rate: Annotated[
        str,
        typer.Option(
            "--rate", "-r", metavar="RATE", help="1000/s, a number per second, or max: as fast as possible."
        ),
    ] = "1000/s",
    duration: Annotated[
        str, typer.Option("--duration", "-d", metavar="TIME", help="Publish for so long.")
    ] = "5s",
    warm_up: Annotated[
        str, typer.Option(metavar="TIME", help="What is due in this time before does not count.")
    ] = "500ms",
    size: Annotated[int, typer.Option("--size", "-s", metavar="BYTES", help="Size of a payload.")] = 128,
    batch: Annotated[
        int, typer.Option(metavar="N", help="With --rate max: publish so many with one call.")
    ] = 1,
    spin: Annotated[
        bool,
        typer.Option(
            "--spin", help="The publisher does not sleep between messages: exact, for one whole CPU."
        ),
    ] = False,
    topic: Annotated[
        str, typer.Option(metavar="TOPIC", help="Publish on this topic. [default: one of its own]")
    ] = "",
    as_json: options.Json = False,
) -> None:
    """Measure latency and throughput: publisher → broker → subscriber, each in a process of its own.

    The loop is open: messages are due at fixed instants, and the latency counts from then, so that a stall is
    seen by all messages that it delays. Percentiles are good to three digits. A broker drops what a
    subscriber cannot keep up with: with --rate max that is to be expected.
    """
    from giusto.cli.bench.plan import plan, report, show
    from giusto.cli.bench.subscriber import measure

    source = context.get_parameter_source("address")
    if local and source is not None and source.name == "COMMANDLINE":
        raise InvalidInput("--address", address, "either --local or --address")
    asked = {
        "rate": rate,
        "duration": duration,
        "warm_up": warm_up,
        "size": size,
        "batch": batch,
        "spin": spin,
    }
    name = topic or f"_bench/{os.getpid()}"
    plan(address, name, **asked)  # type: ignore[arg-type]
    with started_broker() if local else nullcontext(address) as where:
        wanted = plan(where, name, **asked)  # type: ignore[arg-type]
        fields = report(wanted, *measure(wanted))
    print(json.dumps(fields) if as_json else "\n".join(show(fields)))


@contextmanager
def started_broker() -> Iterator[str]:
    """A broker of its own process, on any free port of the loopback, until the end of the block."""
    command = [sys.executable, "-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0"]
    broker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = broker.stdout.readline() if broker.stdout is not None else ""
        ready, _, address = line.strip().partition(" ")
        if ready != "ready":
            raise GiustoError("the broker of the measurement did not start")
        yield address
    finally:
        broker.terminate()
        broker.wait()
