"""`giusto sub`: shows what arrives, for people, as JSON lines, or as the bare payloads."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from giusto.cli import options
from giusto.cli.exits import guarded, say
from giusto.errors import InvalidInput, TimedOut

EXAMPLES = """\b
Examples:
  giusto sub 'ward/+/alarm'
  giusto sub 'ward/#' --filter 'spo2 < 90' --max-latency 5ms
  giusto sub 'ward/#' --json | jq .latency_ns
  giusto sub ward/3/alarm --count 1 --timeout 10s"""

BATCH = 1024


@guarded
def sub(
    pattern: Annotated[
        str, typer.Argument(metavar="PATTERN", help="A topic; + stands for one level, # for all the rest.")
    ],
    address: options.Address = options.ADDRESS,
    name: options.Name = None,
    filter_text: Annotated[
        str | None,
        typer.Option("--filter", "-f", metavar="FILTER", help="Only messages whose attributes satisfy this."),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", metavar="N", help="End after so many messages.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Fail if nothing arrives for so long, such as 10s.")
    ] = None,
    max_latency: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Ask for this latency, and say on stderr what later ones missed."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per message.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the payloads alone, a line each.")] = False,
) -> None:
    """Subscribe and print what arrives.

    A line for people has topic, payload, attributes, latency and publisher.
    """
    from giusto.cli import lines
    from giusto.cli.remarks import connected
    from giusto.contract import Need, duration_ns

    if as_json and raw:
        raise InvalidInput("--raw", "given", "either --json or --raw")
    if count is not None and count < 1:
        raise InvalidInput("--count", count, "at least 1")
    wait_ns = None if timeout is None else duration_ns(timeout, "--timeout", least_ns=1)
    show = lines.as_json if as_json else lines.bare if raw else lines.pretty
    left = count
    with connected(address, name) as bus:
        subscription = bus.subscribe(pattern, Need(max_latency=max_latency), filter=filter_text)
        if max_latency is not None:
            say(str(subscription.verdict))
        while left is None or left > 0:
            messages = subscription.receive_many(
                BATCH if left is None else min(left, BATCH),
                timeout=None if wait_ns is None else wait_ns / 1e9,
            )
            if not messages:
                raise TimedOut(f"subscription to {pattern}", wait_ns or 0)
            text = "".join(f"{show(message)}\n" for message in messages)
            # A payload that is not text goes through as it is.
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
            sys.stdout.buffer.flush()
            left = None if left is None else left - len(messages)
