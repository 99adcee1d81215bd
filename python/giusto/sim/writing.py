"""A scenario as TOML: what differs from the defaults, in the order of the fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from fractions import Fraction
from typing import Any

from giusto.contract import Offer
from giusto.contract.duration import spell_rate
from giusto.errors import InvalidInput
from giusto.sim.delay import DELAYS
from giusto.sim.fault import FAULTS
from giusto.sim.keeping import spelled
from giusto.sim.medium import MEDIA
from giusto.sim.scenario import LISTS, Scenario
from giusto.sim.workload import WORKLOADS

_KINDS: dict[type, str] = {
    make: kind for kinds in (DELAYS, WORKLOADS, MEDIA, FAULTS) for kind, make in kinds.items()
}


def to_toml(scenario: Scenario) -> str:
    """The text that is read back as an equal scenario."""
    return "\n".join(_lines(scenario)) + "\n"


def _lines(scenario: Scenario) -> Iterator[str]:
    values = {key: value for key, value in _fields(scenario).items() if key not in LISTS}
    yield from (f"{key} = {_value(value)}" for key, value in values.items())
    for name in LISTS:
        parts = getattr(scenario, name)
        if not parts and name == "brokers":
            yield "brokers = []"
        for n, part in enumerate(parts):
            _require_named(part, f"{name}[{n}]")
            yield from ("", f"[[{name}]]")
            yield from (f"{key} = {_value(value)}" for key, value in _fields(part).items())


def _require_named(part: Any, path: str) -> None:
    """A policy written in Python has no name that could be written down."""
    for place, holder in ((path, part), (f"{path}.processor", getattr(part, "processor", None))):
        policy = getattr(holder, "policy", "")
        if not isinstance(policy, str):
            raise InvalidInput(f"{place}.policy", policy, "the name of a policy: a file cannot hold another")


def _fields(part: Any) -> dict[str, Any]:
    """What a part says that is not the default; the kind first, where there are several."""
    kind = {"kind": _KINDS[type(part)]} if type(part) in _KINDS else {}
    said = {each.name: getattr(part, each.name) for each in fields(part)}
    return kind | {each.name: said[each.name] for each in fields(part) if _is_said(each, said[each.name])}


def _is_said(field: Field[Any], value: object) -> bool:
    default = field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    # A duration of 0 is spelled out in a part.
    return value is not None and value != default and not (default == 0 and value == "0s")


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int() | float():
            return repr(value)
        case Fraction():
            return _text(str(value))
        case tuple() | list():
            return f"[{', '.join(_value(each) for each in value)}]"
        case Offer():
            return _inline(_offer(value))
    return _inline(_fields(value))


def _inline(values: Mapping[str, Any]) -> str:
    return f"{{ {', '.join(f'{key} = {_value(value)}' for key, value in values.items())} }}"


def _offer(offer: Offer) -> dict[str, Any]:
    """What is policed of an offer; the rest of it no scenario has."""
    said: dict[str, Any] = {}
    if offer.min_sep_ns is not None:
        said["min_sep"] = spelled(offer.min_sep_ns)
    elif offer.limit is not None:
        said["rate"] = spell_rate(*offer.limit)
    return said | {"burst": offer.burst, "jitter": spelled(offer.jitter_ns)}


def _text(text: str) -> str:
    """A JSON text is a TOML text too, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
