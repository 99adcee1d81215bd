"""How a message looks in the terminal: a line for people, or a line of JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

from giusto.contract import show_ns
from giusto.errors import InvalidInput

LONGEST = 200
STRUCTURED_LONGEST = 10_000
"""A part of a JSON object says little: it is shown as a whole, unless it would fill the terminal."""


class Shown(Protocol):
    """What is shown of a message."""

    @property
    def topic(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def source(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def sent_ns(self) -> int: ...
    @property
    def received_ns(self) -> int: ...
    @property
    def latency_ns(self) -> int: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...


def pretty(message: Shown, *, longest: int = LONGEST) -> str:
    """One line for people: topic, payload, attributes, then how late and from whom."""
    said = [message.topic, readable(message.payload, longest)]
    said += [f"{name}={value!r}" for name, value in message.attributes.items()]
    return f"{'  '.join(said)}  ({show_ns(message.latency_ns)} from {message.source or 'unknown'})"


def as_json(message: Shown) -> str:
    """One JSON object in one line; a payload that is not text is given in base64."""
    fields = {
        "topic": message.topic,
        **payload_field(message.payload),
        "source": message.source,
        "priority": message.priority,
        "sequence": message.sequence,
        "sent_ns": message.sent_ns,
        "received_ns": message.received_ns,
        "latency_ns": message.latency_ns,
        "attributes": dict(message.attributes),
    }
    return json.dumps(fields, ensure_ascii=False, default=plain)


def bare(message: Shown) -> str:
    """The payload alone."""
    return message.payload.decode("utf-8", "surrogateescape")


def payload_field(payload: bytes) -> dict[str, str]:
    """The payload as text if it is text."""
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode()}


def plain(value: object) -> object:
    """What JSON has no word for: sets in order, dates in ISO 8601, other things as they print."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def readable(payload: bytes, longest: int = LONGEST) -> str:
    """Text without what would move the cursor; other bytes as 0x…; cut if long, JSON if it is very long."""
    try:
        text = payload.decode()
        longest = max(longest, STRUCTURED_LONGEST) if is_structured(text) else longest
    except UnicodeDecodeError:
        text = "0x" + payload[:longest].hex(" ", -4)
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text[:longest])
    return shown if len(text) <= longest else f"{shown}… ({len(payload)} bytes)"


def is_structured(text: str) -> bool:
    """Whether it is a JSON object or array; nobody reads all of a very long one to know."""
    if not text.startswith(("{", "[")) or len(text) > STRUCTURED_LONGEST:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def attributes(texts: Iterable[str]) -> dict[str, int | float | str] | None:
    """All of `--attribute name=value`, each name once; none if there are none."""
    found: dict[str, int | float | str] = {}
    for text in texts:
        name, value = attribute(text)
        if name in found:
            raise InvalidInput("--attribute", text, f"each name once, and {name} was given before")
        found[name] = value
    return found or None


def attribute(text: str) -> tuple[str, int | float | str]:
    """Name and value of `--attribute name=value`: a whole number, a number, or text."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InvalidInput("--attribute", text, "name=value, such as --attribute spo2=88")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value
