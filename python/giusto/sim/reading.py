"""Which scenario a TOML document describes, or which of its values is wrong: `links[3].delay.mean_per_kb`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from giusto.config.names import quoted, require_known, table
from giusto.contract import Offer
from giusto.errors import InvalidInput, Missing
from giusto.sim.delay import DELAYS, Normal
from giusto.sim.fault import FAULTS
from giusto.sim.medium import MEDIA
from giusto.sim.network import Attribute, Broker, Link, Processor, Publisher, Subscriber
from giusto.sim.scenario import LISTS, Scenario
from giusto.sim.topic import Topic
from giusto.sim.workload import WORKLOADS

_Part = TypeVar("_Part")

OFFER_KEYS = ("min_sep", "rate", "burst", "jitter", "max_sep", "max_size", "timeout", "queue")
"""All that an offer says; what a simulation does not police is refused with a reason, not as unknown."""


def read(path: str | Path) -> Scenario:
    """The scenario of a TOML file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput("scenario", path, f"a file that can be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput("scenario", path, f"a TOML file: {error}") from None
    return from_toml(text, str(path))


def from_toml(text: str, name: str = "text") -> Scenario:
    """The scenario that a TOML text describes; `name` is what an error calls it."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput("scenario", name, f"a TOML document: {error}") from None
    return from_document(document)


def from_document(document: Mapping[str, Any]) -> Scenario:
    """The scenario that is described as in a file."""
    for key in document:
        require_known(key, [field.name for field in fields(Scenario)], quoted(key))
    _require_all(Scenario, document, "")
    values = {key: value for key, value in document.items() if key not in LISTS}
    lists = {key: _parts(document[key], key) for key in LISTS if key in document}
    return _made("", Scenario, values | lists)


def _parts(entries: object, name: str) -> list[Any]:
    if not isinstance(entries, list):
        raise InvalidInput(name, "a single value", f"an array of tables: [[{name}]]")
    return [_READERS[name](entry, f"{name}[{n}]") for n, entry in enumerate(entries)]


def _plain(make: type[_Part], **readers: Callable[[Any, str], Any]) -> Callable[[object, str], _Part]:
    """Reads a table whose keys are the fields of a class; some of them have readers of their own."""
    names = [field.name for field in fields(make)]  # type: ignore[arg-type]

    def read(entry: object, path: str) -> _Part:
        given = table(entry, path)
        for key in given:
            require_known(key, names, f"{path}.{quoted(key)}")
        _require_all(make, given, path)
        values = {
            key: readers[key](value, f"{path}.{key}") if key in readers else _frozen(value)
            for key, value in given.items()
        }
        return _made(path, make, values)

    return read


def _kind(kinds: Mapping[str, type[Any]]) -> Callable[[object, str], Any]:
    """Reads a table whose `kind` says which class it is of."""
    makers = {kind: _plain(make) for kind, make in kinds.items()}

    def read(entry: object, path: str) -> Any:
        values = dict(table(entry, path))
        kind = values.pop("kind", None)
        if not isinstance(kind, str):
            raise InvalidInput(f"{path}.kind", kind, f"one of {', '.join(makers)}")
        require_known(kind, makers, f"{path}.kind {quoted(kind)}")
        return makers[kind](values, path)

    return read


def _require_all(make: type[Any], given: Mapping[str, Any], path: str) -> None:
    """Refuse a table in which a field without a default is missing."""
    for each in fields(make):
        if each.default is MISSING and each.default_factory is MISSING and each.name not in given:
            place = f"{path}.{each.name}" if path else each.name
            raise Missing(place, "a value: it has no default")


def _made(path: str, make: Callable[..., _Part], values: Mapping[str, Any]) -> _Part:
    """What `make` makes; whatever it refuses is named with its path."""
    try:
        return make(**values)
    except InvalidInput as error:
        field = f"{path}.{error.field}" if path else error.field
        raise InvalidInput(field, error.value, error.expected) from None


def _frozen(value: object) -> object:
    """Lists as tuples, so that parts are equal and can be hashed."""
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def _attributes(entries: object, path: str) -> tuple[Attribute, ...]:
    if not isinstance(entries, list):
        raise InvalidInput(path, entries, "a list of {name, low, high}")
    return tuple(_plain(Attribute)(entry, f"{path}[{n}]") for n, entry in enumerate(entries))


def _windows(value: object, path: str) -> object:
    if not isinstance(value, list):
        raise InvalidInput(path, value, 'a list of windows, such as [["0s", "10s"]]')
    return _frozen(value)


def _offer(entry: object, path: str) -> Offer:
    given = table(entry, path)
    for key in given:
        require_known(key, OFFER_KEYS, f"{path}.{quoted(key)}")
    return _made(path, Offer, given)


def _fraction(value: Any, path: str) -> Fraction:
    try:
        return Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise InvalidInput(path, value, 'a number, or a fraction such as "1/3"') from None


_READERS: dict[str, Callable[[object, str], Any]] = {
    "brokers": _plain(Broker, processor=_plain(Processor)),
    "links": _plain(Link, delay=_kind(DELAYS), estimate=_kind({"normal": Normal})),
    "publishers": _plain(
        Publisher, workload=_kind(WORKLOADS), attributes=_attributes, windows=_windows, offer=_offer
    ),
    "subscribers": _plain(Subscriber),
    "topics": _plain(Topic, virtual_deadline=_fraction),
    "media": _kind(MEDIA),
    "faults": _kind(FAULTS),
}
