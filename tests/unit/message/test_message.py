"""Codecs: what travels how, how long it can be, and what is said about types without a limit."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pytest

from giusto.errors import InvalidInput, TooLarge
from giusto.message import codec, size

Meta = msgspec.Meta
Short = Annotated[str, Meta(max_length=7)]


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Pair(NamedTuple):
    left: int
    right: bool


class Named(TypedDict):
    name: Short


class Reading(msgspec.Struct):
    bed: Annotated[int, Meta(ge=0, le=200)]
    unit: Literal["%", "bpm"]
    values: Annotated[list[float], Meta(max_length=3)]


class Tagged(msgspec.Struct, tag="reading", array_like=True):
    bed: bool


class Tree(msgspec.Struct):
    leaves: Annotated[list[Tree], Meta(max_length=2)]


@dataclasses.dataclass
class Alarm:
    bed: int
    note: Short | None = None


@dataclasses.dataclass
class Report:
    alarms: Annotated[list[Alarm], Meta(max_length=2)]
    author: str


LONGEST = [
    (bool, True),
    (None, None),
    (float, 1.5),
    (int, 2**64 - 1),
    (Annotated[int, Meta(ge=0, le=127)], 127),
    (Annotated[int, Meta(gt=-33, lt=128)], 127),
    (Annotated[int, Meta(ge=-33, le=0)], -33),
    (Annotated[int, Meta(ge=-(2**31), le=255)], -(2**31)),
    (Short, "\U0001f600" * 7),
    (Annotated[str, Meta(max_length=8)], "\U0001f600" * 8),
    (Annotated[bytearray, Meta(max_length=3)] | None, bytearray(3)),
    (datetime.datetime, datetime.datetime.max),
    (Annotated[datetime.datetime, Meta(tz=True)], datetime.datetime(1, 1, 1, 1, tzinfo=datetime.UTC)),
    (datetime.date, datetime.date.max),
    (Annotated[datetime.time, Meta(tz=False)], datetime.time.max),
    (datetime.time, datetime.time(1, 2, 3, 4, tzinfo=datetime.timezone(datetime.timedelta(hours=5)))),
    (datetime.timedelta, datetime.timedelta(days=-999_999_999, microseconds=1)),
    (uuid.UUID, uuid.UUID(int=0)),
    (Literal["a", "bcd"], "bcd"),
    (Colour, Colour.GREEN),
    (tuple[bool, int], (True, -(2**63))),
    (tuple[Literal[1], ...] | None, None),
    (Annotated[tuple[bool, ...], Meta(max_length=16)], (True,) * 16),
    (Annotated[frozenset[Literal[1, 2]], Meta(max_length=2)], frozenset({1, 2})),
    (Annotated[dict[Short, bool], Meta(max_length=1)], {"\U0001f600" * 7: True}),
    (Pair, Pair(2**63, False)),
    (Named, Named(name="\U0001f600" * 7)),
    (Reading, Reading(200, "bpm", [0.5] * 3)),
    (Tagged, Tagged(True)),
    (Alarm, Alarm(2**63, "\U0001f600" * 7)),
]


@pytest.mark.parametrize(("type", "value"), LONGEST, ids=lambda value: str(value)[:30])
def test_the_inferred_size_is_reached(type: Any, value: object) -> None:
    found = codec(type)
    if found.max_size_bytes is None:
        assert "max_length" in found.reason
    else:
        assert len(found.encode(value)) == found.max_size_bytes
    assert found.decode(found.encode(value)) == value


@pytest.mark.parametrize(
    ("type", "path"),
    [
        (str, "the type: a str without max_length"),
        (list[int], "the type: a collection without max_length"),
        (dict[Short, int], "the type: a dict without max_length"),
        (Decimal, "the type: nothing limits the size of Decimal"),
        (Any, "the type: nothing limits the size of Any"),
        (Report, "author: a str without max_length"),
        (tuple[int, str], "[1]: a str"),
        (Annotated[list[dict[str, int]], Meta(max_length=3)], "[]: a dict"),
        (Annotated[dict[str, int], Meta(max_length=3)], ".keys(): a str"),
        (int | bytes, "the type: a bytes without max_length"),
        (Tree, "leaves[]: contains itself"),
        (msgspec.Raw, "nothing limits the size of Raw"),
    ],
)
def test_the_first_part_without_a_limit_is_named(type: Any, path: str) -> None:
    found = size(type)
    assert found.bytes is None
    assert path in found.reason


def test_bytes_travel_as_they_are() -> None:
    raw = codec(bytes)
    assert (raw.encode(b"\xc1"), raw.decode(b"\xc1"), raw.max_size_bytes) == (b"\xc1", b"\xc1", None)
    assert raw.encode(bytearray(b"ab")) == b"ab"
    short = codec(Annotated[bytes, Meta(max_length=4)])
    assert short.max_size_bytes == 4
    with pytest.raises(TooLarge):
        short.encode(b"12345")
    assert codec(bytearray).decode(b"ab") == bytearray(b"ab")


def test_a_value_of_another_type_is_not_sent() -> None:
    for type, value in ((Reading, {"bed": 1}), (Alarm, Pair(1, True)), (bytes, "text"), (int, 2**64)):
        with pytest.raises(InvalidInput) as caught:
            codec(type).encode(value)
        assert caught.value.field == "payload"


def test_a_value_beyond_its_limits_is_not_sent() -> None:
    with pytest.raises(TooLarge):
        codec(Reading).encode(Reading(1, "%", [0.5] * 9))


def test_a_payload_of_another_type_is_named() -> None:
    for body in (
        b"",
        b"\xc1",
        b"\x91" * 5000,
        msgspec.msgpack.encode({"bed": 300, "unit": "%", "values": []}),
    ):
        with pytest.raises(InvalidInput) as caught:
            codec(Reading).decode(body)
        assert caught.value.field == "payload"
    assert "$.bed" not in caught.value.field
    assert "`$.bed`" in caught.value.expected


def test_a_type_that_cannot_travel_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        codec(Reading | Tree)
    assert caught.value.field == "type"
