"""`giusto pub`: publishes what it is given, once, at a rate, or line by line."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from giusto.cli import options
from giusto.cli.exits import guarded, say
from giusto.errors import InvalidInput

if TYPE_CHECKING:
    from giusto.contract import Offer

EXAMPLES = """\b
Examples:
  giusto pub ward/3/alarm 'SpO2 low'
  giusto pub ward/3/alarm low --attribute spo2=82 --priority 7
  giusto pub load --rate 1000/s --count 10000 --size 128
  tail -f /var/log/syslog | giusto pub log/syslog -"""

FILLER = b"giusto "
JITTER_NS = 20_000_000
"""How late messages may leave against their plan: what is offered with a rate. A sleep may take that long."""


@guarded
def pub(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic, such as ward/3/alarm.")],
    payload: Annotated[
        str | None,
        typer.Argument(metavar="PAYLOAD", help="Text to publish; - publishes each line of stdin."),
    ] = None,
    address: options.Address = options.ADDRESS,
    name: options.Name = None,
    rate: Annotated[
        str | None,
        typer.Option("--rate", "-r", metavar="RATE", help="Repeat: 100/s, 5/10ms, or a number per second."),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", metavar="N", help="Publish so many messages. [default: 1; no end with --rate]"
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(metavar="BYTES", help="Publish so many bytes instead of a text.")
    ] = None,
    priority: Annotated[
        int, typer.Option("--priority", "-p", metavar="0-7", help="7 is the most urgent.")
    ] = 0,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            "-A",
            metavar="NAME=VALUE",
            help="A value that filters can look at; may be repeated.",
        ),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Of no use to anyone after that time, such as 50ms.")
    ] = None,
) -> None:
    """Publish messages on a topic.

    Says on stderr how many were published. With a rate, messages are due at fixed instants: a late one does
    not delay those after it. The rate is what is offered to the broker, so that topics under contract can be
    published on.
    """
    from giusto.cli.lines import attributes as parse
    from giusto.cli.pace import Release, pace, wait_until
    from giusto.cli.remarks import connected

    plan = pace(rate, count, alone=None if payload == "-" else 1)
    messages = payloads(payload, size, sys.stdin.buffer)
    attributes = parse(attribute or [])
    offered = offer(rate, None if payload == "-" else len(next(messages)), attributes, timeout)
    release = Release(plan, offered.jitter_ns)
    sent, is_done = 0, False
    with connected(address, name) as bus:
        publisher = bus.advertise(topic, offered)
        try:
            for due_ns, message in zip(plan.due_ns(time.monotonic_ns()), messages, strict=False):
                wait_until(release.at_ns(due_ns))
                release.left(time.monotonic_ns())
                publisher.publish(
                    message,
                    priority=priority,
                    attributes=attributes,
                    intended_ns=due_ns if rate is not None else None,
                )
                sent += 1
            is_done = True
        finally:
            if sent or is_done:
                nobody = "" if publisher.matched else " (nobody subscribes)"
                say(f"published {sent:,} {'message' if sent == 1 else 'messages'} on {topic}{nobody}")


def offer(
    rate: str | None, payload_bytes: int | None, attributes: Mapping[str, Any] | None, timeout: str | None
) -> Offer:
    """What is offered: the rate, and the size if it is known. Without a rate nothing: best effort."""
    from giusto import _core
    from giusto.cli.pace import number
    from giusto.contract import Offer
    from giusto.contract.offer import SIZE_BYTES_MAX

    if rate is None:
        return Offer(timeout=timeout)
    size_bytes = None
    if payload_bytes is not None:
        size_bytes = min(
            SIZE_BYTES_MAX, max(1, payload_bytes + len(_core.encode_attributes(attributes or {})))
        )
    return Offer(rate=number(rate), jitter=f"{JITTER_NS}ns", max_size=size_bytes, timeout=timeout)


def payloads(payload: str | None, size: int | None, lines: Iterable[bytes]) -> Iterator[bytes]:
    """The payloads to publish: the lines of stdin for `-`, else the same one without end."""
    if size is not None:
        if payload is not None:
            raise InvalidInput("--size", size, "no PAYLOAD beside it")
        if size < 0:
            raise InvalidInput("--size", size, "at least 0 bytes")
        return itertools.repeat((FILLER * (size // len(FILLER) + 1))[:size])
    if payload == "-":
        return (line.removesuffix(b"\n").removesuffix(b"\r") for line in lines)
    return itertools.repeat((payload or "").encode("utf-8", "surrogateescape"))
