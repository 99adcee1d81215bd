"""Which value each setting has in the end: file, then environment, then flags."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from giusto import _core
from giusto.config import kinds
from giusto.config.broker import (
    BrokerConfig,
    Guarantee,
    Limits,
    Models,
    Mtep,
    Realtime,
    Records,
    Retain,
    share_of,
)
from giusto.config.names import quoted as _quoted
from giusto.config.names import require_known as _require_known
from giusto.config.names import table as _table
from giusto.config.settings import SECTIONS, TOPIC, Setting
from giusto.errors import InvalidInput
from giusto.protocol import ShareTerms
from giusto.trace.options import Options as TraceOptions

# Section, key, value, and the name under which it was given.
_Given: TypeAlias = tuple[str, str, object, str]

PREFIX = "GIUSTO_"


def load(
    path: str | Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
) -> BrokerConfig:
    """The configuration; `flags` are settings by name (`"broker.input"`), and `None` says nothing.

    Paths in the file are relative to its folder, all others to the working directory.
    """
    values: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
    document = _document(path) if path is not None else {}
    topics = _topics(document.pop("topics", {}))
    for section, key, value, name in [
        *_from_document(document, Path() if path is None else Path(path).parent),
        *_from_environment(environ),
        *_from_flags(flags or {}),
    ]:
        setting = SECTIONS[section][key]
        values[section][key + setting.suffix] = setting.read(value, name)
    return _assembled(values, topics)


def _assembled(
    values: Mapping[str, Mapping[str, Any]], topics: Iterable[tuple[str, ShareTerms]]
) -> BrokerConfig:
    return BrokerConfig(
        **values["broker"],
        realtime=Realtime(**values["realtime"]),
        limits=Limits(**values["limits"]),
        records=Records(**values["records"]),
        retain=Retain(**values["retain"]),
        trace=TraceOptions(**values["trace"]),
        mtep=Mtep(**values["mtep"]),
        models=Models(**values["models"]),
        guarantee=Guarantee(**values["guarantee"]),
        topics=tuple(topics),
    )


def _document(path: str | Path) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput("config", path, f"a file that can be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("config", path, f"a TOML file: {error}") from None


def _from_document(document: Mapping[str, Any], folder: Path) -> list[_Given]:
    found: list[_Given] = []
    for section, table in document.items():
        _require_known(section, [*SECTIONS, "topics"], section)
        for key, value in _table(table, section).items():
            name = f"{section}.{_quoted(key)}"
            _require_known(key, SECTIONS[section], name)
            found.append((section, key, _beside(value, SECTIONS[section][key], folder), name))
    return found


def _beside(value: object, setting: Setting, folder: Path) -> object:
    """A path as seen from the working directory; other values, and what is no path, as they are."""
    is_path = setting.read is kinds.path and isinstance(value, str) and value.strip()
    return str(folder / str(value)) if is_path else value


def _from_environment(environ: Mapping[str, str]) -> list[_Given]:
    """`GIUSTO_BROKER_LISTEN` and its like; other variables are none of ours."""
    found: list[_Given] = []
    for name, text in sorted(environ.items()):
        section, _, key = name.removeprefix(PREFIX).lower().partition("_")
        if name.startswith(PREFIX) and section in SECTIONS and key:
            known = [f"{PREFIX}{section}_{each}".upper() for each in SECTIONS[section]]
            _require_known(name, known, name)
            found.append((section, key, text, name))
    return found


def _from_flags(flags: Mapping[str, object]) -> list[_Given]:
    known = [f"{section}.{key}" for section, settings in SECTIONS.items() for key in settings]
    found: list[_Given] = []
    for name, value in flags.items():
        _require_known(name, known, name)
        section, _, key = name.partition(".")
        if value is not None:
            found.append((section, key, value, name))
    return found


def _topics(table: object) -> list[tuple[str, ShareTerms]]:
    return [
        _topic(pattern, _table(share, f"topics.{_quoted(pattern)}"))
        for pattern, share in _table(table, "topics").items()
    ]


def _topic(pattern: str, share: Mapping[str, object]) -> tuple[str, ShareTerms]:
    path = f"topics.{_quoted(pattern)}"
    try:
        _core.topic_matches(pattern, "any")
    except InvalidInput as error:
        raise InvalidInput(path, error.value, error.expected) from None
    values: dict[str, Any] = {}
    for key, value in share.items():
        _require_known(key, TOPIC, f"{path}.{_quoted(key)}")
        setting: Setting = TOPIC[key]
        values[key + setting.suffix] = setting.read(value, f"{path}.{key}")
    terms = ShareTerms(**values)
    share_of(terms)
    return pattern, terms
