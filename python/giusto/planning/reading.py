"""Which scenario a document describes, or which of its values is wrong: `offer[3].min_sep`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from giusto import _core
from giusto.config.broker import BrokerConfig, Guarantee, is_wild, share_of
from giusto.config.names import quoted, require_known, table
from giusto.config.settings import TOPIC
from giusto.config.settings import Setting as Key
from giusto.contract import Need, Offer
from giusto.errors import InvalidInput
from giusto.guarantee.calibration import load
from giusto.guarantee.costs import Costs
from giusto.guarantee.model import Rest
from giusto.planning.scenario import Needed, Offered, Scenario
from giusto.planning.terms import BROKER_KEYS, GUARANTEE_KEYS, NEED_KEYS, OFFER_KEYS, REST_KEYS, text
from giusto.protocol import ShareTerms

SECTIONS = ("broker", "guarantee", "rest", "topic", "offer", "need")
_Contract = TypeVar("_Contract")


def read(path: str | Path) -> Scenario:
    """The scenario of a TOML file; a calibration file in it is looked for beside it."""
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput("scenario", path, f"a file that can be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("scenario", path, f"a TOML file: {error}") from None
    return from_document(document, Path(path).parent)


def from_document(document: Mapping[str, Any], folder: Path = Path()) -> Scenario:
    """The scenario that is described as in a file."""
    for section in document:
        require_known(section, SECTIONS, quoted(str(section)))
    broker = _values(document.get("broker", {}), BROKER_KEYS, "broker")
    guarantee = _values(document.get("guarantee", {}), GUARANTEE_KEYS, "guarantee")
    rest = _values(document.get("rest", {}), REST_KEYS, "rest")
    return Scenario(
        offers=tuple(offer for each in _entries(document, "offer") for offer in _offers(*each)),
        needs=tuple(_need(*each) for each in _entries(document, "need")),
        shares=_shares(_entries(document, "topic")),
        input=broker.get("input", "twrr"),
        config=_config(broker, guarantee),
        costs=_costs(guarantee.get("calibration"), folder),
        rest=Rest(fanout=rest.get("fanout", 0), size_bytes=rest.get("max_size", 0)),
    )


def _values(given: object, keys: Mapping[str, Key], path: str) -> dict[str, Any]:
    found = {}
    for key, value in table(given, path).items():
        require_known(key, keys, f"{path}.{quoted(key)}")
        found[key + keys[key].suffix] = keys[key].read(value, f"{path}.{key}")
    return found


def _entries(document: Mapping[str, Any], section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tables of an array, each with its path."""
    entries = document.get(section, [])
    if not isinstance(entries, list | tuple):
        raise InvalidInput(section, "a single value", f"an array of tables: [[{section}]]")
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InvalidInput(f"{section}[{place}]", entry, f"a table: [[{section}]]")
        yield f"{section}[{place}]", entry


def _config(broker: dict[str, Any], guarantee: dict[str, Any]) -> BrokerConfig:
    """The configuration of such a broker, which checks what belongs together."""
    values = {key: value for key, value in broker.items() if key != "input"}
    return BrokerConfig(**values, guarantee=Guarantee(**guarantee))


def _costs(calibration: str | None, folder: Path) -> Costs:
    # A plan may be made elsewhere than where the broker will run; the basis says so.
    return Costs() if calibration is None else load(folder / calibration, any_machine=True)


def _shares(entries: Iterable[tuple[str, dict[str, Any]]]) -> tuple[tuple[str, ShareTerms], ...]:
    found: dict[str, ShareTerms] = {}
    for path, entry in entries:
        values = dict(entry)
        name = _topic(values.pop("name", None), f"{path}.name")
        if name in found:
            raise InvalidInput(f"{path}.name", name, "a topic that no other [[topic]] names")
        for key in values:
            require_known(key, ["name", *TOPIC], f"{path}.{quoted(key)}")
        found[name] = ShareTerms(**_values(values, TOPIC, path))
        _at(path, share_of, found[name])
    return tuple(found.items())


def _offers(path: str, entry: dict[str, Any]) -> Iterator[Offered]:
    values = dict(entry)
    client = text(values.pop("client", None), f"{path}.client")
    topics = values.pop("topic", None)
    several = topics if isinstance(topics, list) else [topics]
    if not several:
        raise InvalidInput(f"{path}.topic", topics, "a topic, or several")
    offer = _contract(path, Offer, values, OFFER_KEYS)
    for topic in several:
        yield Offered(client=client, topic=_topic(topic, f"{path}.topic"), offer=offer, path=path)


def _need(path: str, entry: dict[str, Any]) -> Needed:
    values = dict(entry)
    client = text(values.pop("client", None), f"{path}.client")
    pattern = _pattern(values.pop("topic", None), f"{path}.topic")
    return Needed(client=client, pattern=pattern, need=_contract(path, Need, values, NEED_KEYS), path=path)


def _contract(
    path: str, make: Callable[..., _Contract], values: dict[str, Any], keys: Iterable[str]
) -> _Contract:
    for key in values:
        require_known(key, ["client", "topic", *keys], f"{path}.{quoted(key)}")
    return _at(path, make, **values)


def _at(path: str, make: Callable[..., _Contract], *args: object, **values: object) -> _Contract:
    """What `make` makes; whatever it refuses is named with its path."""
    try:
        return make(*args, **values)
    except InvalidInput as error:
        raise InvalidInput(f"{path}.{error.field}", error.value, error.expected) from None


def _pattern(value: object, path: str) -> str:
    pattern = text(value, path)
    try:
        _core.topic_matches(pattern, "any")
    except InvalidInput as error:
        raise InvalidInput(path, error.value, error.expected) from None
    return pattern


def _topic(value: object, path: str) -> str:
    topic = _pattern(value, path)
    if is_wild(topic):
        raise InvalidInput(path, topic, "a topic without wildcards")
    return topic
