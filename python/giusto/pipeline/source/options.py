"""What the caller of a source or a sink said; names as Spark's own sources have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from giusto import _core
from giusto.client.face import broker_address
from giusto.contract import duration_ns
from giusto.errors import InvalidInput, Missing

EARLIEST, LATEST = "earliest", "latest"
READING = (
    "url",
    "topic",
    "filter",
    "startingPosition",
    "maxRowsPerTrigger",
    "partitions",
    "failOnDataLoss",
    "pushFilters",
    "volatile",
    "records",
    "maxFilesPerTrigger",
    "timeout",
)
WRITING = ("url", "topic", "checkpointLocation", "query", "timeout")
OF_SPARK = {"queryname", "owner", "provider", "comment", "location", "external", "is_managed_location"}
"""Spark adds them by itself: for a stream, and for what its catalogue has."""
PATHS = ("path", "paths")
_WHOLE = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class Options:
    """Of a source or a sink; `query` and `checkpoint` are of a sink."""

    url: str
    topic: str | None
    filter: str | None
    start: str | int
    max_rows: int | None
    max_files: int | None
    partitions: int | None
    fails_on_loss: bool
    is_volatile: bool
    is_records: bool
    pushes: bool
    timeout_ns: int
    query: str | None
    checkpoint: str | None

    @property
    def pattern(self) -> str:
        """The topics to read."""
        if self.topic is None:
            raise Missing("option topic", 'a topic or pattern: .option("topic", "ward/#")')
        return self.topic


def parsed(given: Mapping[str, str]) -> Options:
    """Check what was said; an error names the option."""
    read = {name.lower(): value for name, value in given.items()}
    topic, text = read.get("topic"), read.get("filter")
    if topic is not None:
        _require_pattern(topic)
    return Options(
        url=broker_address(read.get("url")),
        topic=topic,
        filter=None if text is None else _core.Filter(text).canonical,
        start=_start(read.get("startingposition", EARLIEST)),
        max_rows=_count(read, "maxRowsPerTrigger"),
        max_files=_count(read, "maxFilesPerTrigger"),
        partitions=_count(read, "partitions"),
        fails_on_loss=_flag(read, "failOnDataLoss", True),
        is_volatile=_flag(read, "volatile", False),
        is_records=_flag(read, "records", False),
        pushes=_flag(read, "pushFilters", False),
        timeout_ns=duration_ns(read.get("timeout", "30s"), "option timeout"),
        query=read.get("query"),
        checkpoint=read.get("checkpointlocation"),
    )


def require_names(given: Iterable[str], known: Iterable[str], whose: str) -> None:
    """Refuse options that nobody would look at; Spark hands names over in small letters."""
    names = {name.lower(): name for name in known}
    for name in sorted(given):
        is_of_spark = name in OF_SPARK or name.startswith("option.")
        if name.lower() not in names and not is_of_spark:
            raise InvalidInput("option", name, _instead(name.lower(), names, whose))


def _instead(name: str, names: Mapping[str, str], whose: str) -> str:
    if name in PATHS:
        return 'none: topics have no path; name them with .option("topic", "ward/#")'
    near = get_close_matches(name, names, n=1)
    hint = f" (did you mean {names[near[0]]}?)" if near else ""
    return f"an option of {whose}{hint}: {', '.join(names.values())}"


def _require_pattern(topic: str) -> None:
    try:
        _core.topic_matches(topic, "any")
    except InvalidInput as error:
        raise InvalidInput("option topic", error.value, error.expected) from None


def _start(text: str) -> str | int:
    if text in (EARLIEST, LATEST):
        return text
    if not _WHOLE.fullmatch(text):
        raise InvalidInput("option startingPosition", text, f"{EARLIEST}, {LATEST} or a position")
    return int(text)


def _count(read: Mapping[str, str], name: str) -> int | None:
    text = read.get(name.lower())
    if text is None:
        return None
    if not _WHOLE.fullmatch(text) or not int(text):
        raise InvalidInput(f"option {name}", text, "a whole number, at least 1")
    return int(text)


def _flag(read: Mapping[str, str], name: str, default: bool) -> bool:
    text = read.get(name.lower(), str(default)).lower()
    if text not in ("true", "false"):
        raise InvalidInput(f"option {name}", text, "true or false")
    return text == "true"
