"""Which values `--param` names: `policy=mtep,fifo`, `rate=1..5`, `weight=0..1..0.2`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from giusto.errors import InvalidInput
from giusto.pipeline.cases import Value
from giusto.pipeline.spec import Spec, read, span

NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
SPAN = re.compile(rf"({NUMBER})\.\.({NUMBER})(?:\.\.({NUMBER}))?")
TRUTH = {"true": True, "false": False}


def parameters(texts: Iterable[str]) -> dict[str, list[Value]]:
    """All of `--param`, each name once."""
    found: dict[str, list[Value]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not name or not equals or not values:
            raise InvalidInput("--param", text, "name=values, such as --param policy=mtep,fifo")
        if name in found:
            raise InvalidInput("--param", text, f"each name once, and {name} was given before")
        found[name] = [value for part in values.split(",") for value in part_values(text, part)]
    return found


def part_values(text: str, part: str) -> list[Value]:
    """What stands between two commas: a span or a value."""
    ends = SPAN.fullmatch(part)
    if ends is None:
        return [value(part)]
    return span(f"--param {text.partition('=')[0]}", ends[1], ends[2], ends[3] or "1")


def value(text: str) -> Value:
    """A whole number, a number, true or false, or text."""
    if text in TRUTH:
        return TRUTH[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def spec(named: str, params: Iterable[str], seeds: int | None) -> Spec:
    """The sweep of a TOML file or of an experiment, with what the options say."""
    is_file = Path(named).suffix == ".toml"
    return (read(named) if is_file else Spec(named)).changed(parameters(params), seeds)
