"""How messages are printed, and how attributes are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from giusto.cli import lines
from giusto.errors import InvalidInput


@dataclass(frozen=True)
class Message:
    payload: bytes
    attributes: Mapping[str, Any] = field(default_factory=dict)
    topic: str = "ward/3/alarm"
    source: str = "monitor"
    priority: int = 6
    sequence: int = 258
    sent_ns: int = 1_000
    received_ns: int = 51_000
    latency_ns: int = 50_000


def test_a_line_for_people_has_everything_that_they_look_for() -> None:
    line = lines.pretty(Message(b"SpO2 low", {"spo2": 82}))
    assert line == "ward/3/alarm  SpO2 low  spo2=82  (50 µs from monitor)"


def test_a_payload_cannot_move_the_cursor() -> None:
    assert lines.readable(b"a\x1b[2Jb\nc\x07") == r"a\x1b[2Jb\nc\x07"


def test_bytes_that_are_not_text_are_shown_in_hexadecimal() -> None:
    assert lines.readable(b"\xff\x00\x01\x02\x03") == "0xff000102 03"


def test_a_long_payload_is_cut_and_its_size_is_said() -> None:
    shown = lines.readable(b"x" * 5000, 10)
    assert shown == "xxxxxxxxxx… (5000 bytes)"


def test_a_json_payload_is_shown_whole_unless_it_would_fill_the_terminal() -> None:
    text = json.dumps({"reason": "x" * 500})
    assert lines.readable(text.encode()) == text
    assert lines.readable(text[:-1].encode()).endswith("… (513 bytes)")
    assert lines.readable(json.dumps(["x" * 20_000]).encode()).endswith("xxx… (20004 bytes)")


def test_json_gives_text_as_text_and_bytes_in_base64() -> None:
    text, data = (json.loads(lines.as_json(Message(payload))) for payload in ("é".encode(), b"\xff"))
    assert text["payload"] == "é"
    assert "payload" not in data
    assert data["payload_base64"] == "/w=="


def test_json_has_every_field_in_one_line() -> None:
    attributes = {"n": 1, "tags": {"b", "a"}, "at": datetime(2006, 10, 8, tzinfo=UTC)}
    line = lines.as_json(Message(b"a\nb", attributes))
    assert "\n" not in line
    assert json.loads(line) == {
        "topic": "ward/3/alarm",
        "payload": "a\nb",
        "source": "monitor",
        "priority": 6,
        "sequence": 258,
        "sent_ns": 1_000,
        "received_ns": 51_000,
        "latency_ns": 50_000,
        "attributes": {"n": 1, "tags": ["a", "b"], "at": "2006-10-08T00:00:00+00:00"},
    }


def test_the_bare_payload_survives_whatever_it_is() -> None:
    payload = bytes(range(256))
    assert lines.bare(Message(payload)).encode("utf-8", "surrogateescape") == payload


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n=82", ("n", 82)),
        ("x=-1.5", ("x", -1.5)),
        ("s=low", ("s", "low")),
        ("s=", ("s", "")),
        ("s=a=b", ("s", "a=b")),
    ],
)
def test_an_attribute_is_a_number_if_it_looks_like_one(text: str, expected: tuple[str, object]) -> None:
    assert lines.attribute(text) == expected


@pytest.mark.parametrize("text", ["", "spo2", "=3"])
def test_an_attribute_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="name=value"):
        lines.attribute(text)
