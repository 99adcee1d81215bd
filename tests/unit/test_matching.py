"""The matcher and the attribute block as Python sees them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest

from giusto import _core
from giusto._core import Filter, Float, Matcher
from giusto.errors import Duplicate, FilterSyntax, InvalidInput, ProtocolError, Unknown

EVENT: dict[str, Any] = {
    "count": -(2**63),
    "ratio": Float(0.1),
    "price": 0.1,
    "symbol": "联想 Legend",
    "at": datetime(2006, 10, 8, 10, 30, 1, 500_000, tzinfo=UTC),
    "rooms": {3, 1, 2},
    "tags": frozenset({"b", "a"}),
    "none": frozenset[str](),
}


@pytest.fixture
def matcher() -> Matcher:
    matcher = Matcher()
    for name in ("ward", "ward/3/alarm", "stock"):
        matcher.add_topic(name)
    return matcher


def test_an_event_comes_back_as_it_was() -> None:
    assert _core.decode_attributes(_core.encode_attributes(EVENT)) == EVENT


def test_any_mapping_is_an_event() -> None:
    assert _core.encode_attributes(MappingProxyType(EVENT)) == _core.encode_attributes(EVENT)


def test_a_date_is_the_same_instant_in_every_zone() -> None:
    elsewhere = datetime(2006, 10, 8, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    decoded = _core.decode_attributes(_core.encode_attributes({"at": elsewhere}))
    assert decoded == {"at": datetime(2006, 10, 8, 10, 30, tzinfo=UTC)}


def test_a_block_of_one_int_byte_by_byte() -> None:
    assert _core.encode_attributes({"n": 258}) == b"\x01" + b"\x01n" + b"\x01" + b"\x02\x01" + bytes(6)


@pytest.mark.parametrize(
    ("block", "problem", "offset"),
    [
        (b"\x01", "the block is cut short", 1),
        (b"\x01\x01n\x09", "unknown type of value", 3),
        (b"\x00\x00", "bytes after the last attribute", 1),
        (b"\x01\x01n\x03" + b"\xff" * 8, "NaN is not a value", 1),
    ],
)
def test_bytes_that_are_no_block_are_refused(block: bytes, problem: str, offset: int) -> None:
    with pytest.raises(ProtocolError) as refused:
        _core.decode_attributes(block)
    assert (refused.value.problem, refused.value.offset) == (problem, offset)


def test_subscriptions_with_and_without_a_filter(matcher: Matcher) -> None:
    matcher.subscribe(7, "ward/+/alarm", "spo2 < 90")
    matcher.subscribe(3, "ward/#")
    matcher.subscribe(5, "#", Filter("spo2 < 85 or pulse > 140"))
    assert len(matcher) == 3
    assert matcher.matching("ward/3/alarm") == [3]
    assert matcher.matching("ward/3/alarm", {"spo2": 88}) == [3, 7]
    assert matcher.matching("ward/3/alarm", _core.encode_attributes({"spo2": 80})) == [3, 5, 7]
    assert matcher.matching("stock", {"pulse": 150.5}) == [5]
    assert matcher.would_match(7, "ward/3/alarm", {"spo2": 88})
    assert not matcher.would_match(7, "ward", {"spo2": 88})
    matcher.unsubscribe(3)
    assert matcher.matching("ward/3/alarm", {"spo2": 88}) == [7]


def test_a_subscription_covers_topics_that_come_later(matcher: Matcher) -> None:
    matcher.subscribe(1, "ward/+/alarm", "spo2 < 90")
    matcher.subscribe(2, "ward/+/alarm")
    matcher.add_topic("ward/4/alarm")
    assert matcher.matching("ward/4/alarm", {"spo2": 80}) == [1, 2]
    matcher.remove_topic("ward/4/alarm")
    with pytest.raises(Unknown, match="unknown topic ward/4/alarm"):
        matcher.matching("ward/4/alarm")


def test_what_is_refused_changes_nothing(matcher: Matcher) -> None:
    matcher.subscribe(1, "#")
    with pytest.raises(Duplicate):
        matcher.subscribe(1, "stock")
    with pytest.raises(FilterSyntax):
        matcher.subscribe(2, "stock", "x >")
    with pytest.raises(InvalidInput, match="position 6"):
        matcher.subscribe(2, "stock/")
    with pytest.raises(InvalidInput, match="0 to 4294967295"):
        matcher.subscribe(-1, "stock")
    with pytest.raises(Duplicate):
        matcher.add_topic("stock")
    with pytest.raises(InvalidInput, match="without wildcards"):
        matcher.add_topic("stock/+")
    with pytest.raises(Unknown):
        matcher.unsubscribe(2)
    assert matcher.matching("stock") == [1]
    assert len(matcher) == 1
    matcher.add_topic("stock/1")
    assert matcher.matching("stock/1") == [1]
