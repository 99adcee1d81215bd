"""The filter language as Python sees it, and every example of its reference page."""

from __future__ import annotations

import pickle
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from giusto import _core
from giusto._core import Filter, Float
from giusto.errors import FilterSyntax, InvalidInput

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "filters.md"


def rows(title: str) -> list[list[str]]:
    """The cells of the first block of text below a heading."""
    section = PAGE.read_text().split(f"## {title}\n", 1)[1]
    block = re.search(r"```text\n(.*?)```", section, re.DOTALL)
    assert block
    return [[cell.strip() for cell in line.split(" | ")] for line in block[1].splitlines()]


@pytest.mark.parametrize(("text", "event", "answer"), rows("Examples"))
def test_the_examples_of_the_page(text: str, event: str, answer: str) -> None:
    values = eval(event, {"Float": Float, "datetime": datetime, "UTC": UTC})
    assert Filter(text).matches(values) is (answer == "yes")
    assert Filter(text).matches(_core.encode_attributes(values)) is (answer == "yes")


@pytest.mark.parametrize(("text", "position", "problem"), rows("When a filter is refused"))
def test_the_refusals_of_the_page(text: str, position: str, problem: str) -> None:
    with pytest.raises(FilterSyntax) as refused:
        Filter(text)
    error = refused.value
    assert (error.text, error.position, error.problem) == (text, int(position), problem)
    assert pickle.loads(pickle.dumps(error)).args == error.args


@pytest.mark.parametrize(("pattern", "name", "answer"), rows("Topics and patterns"))
def test_the_patterns_of_the_page(pattern: str, name: str, answer: str) -> None:
    assert _core.topic_matches(pattern, name) is (answer == "yes")


def test_a_filter_is_a_value() -> None:
    filter = Filter('x≤1.0 and not y = "a"')
    assert str(filter) == filter.canonical == 'x <= 1 and y != "a"'
    assert filter == Filter(str(filter))
    assert hash(filter) == hash(Filter(str(filter)))
    assert filter != Filter("x <= 1")
    assert pickle.loads(pickle.dumps(filter)) == filter
    assert "x <= 1" in repr(filter)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "no Boolean"),
        (2**63, "64 bits"),
        (float("nan"), "a number"),
        (Float(float("nan")), "a number"),
        (datetime(2006, 10, 8), "time zone"),
        (datetime(9999, 1, 1, tzinfo=UTC), "between 1677"),
        ({1, "a"}, "a set of int or of str"),
        ({1.5}, "a set of int or of str"),
        (None, "int, float, Float"),
        ("\ud800", "UTF-8"),
        ("x" * 70_000, "at most 65535 bytes"),
    ],
)
def test_a_value_that_cannot_be_encoded_is_named(value: object, expected: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(expected)) as refused:
        _core.encode_attributes({"price": value})  # type: ignore[dict-item]
    assert refused.value.field == 'attributes["price"]'


def test_a_float_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Float = 1"):
        Float(1e39)
    assert float(Float(0.5)) == 0.5
    assert Float(0.1) == Float(0.1)
    assert Float(0.1) != 0.1


@pytest.mark.parametrize("name", ["", "n" * 256, "\ud800", 3])
def test_a_name_that_cannot_be_encoded_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match="attribute name"):
        _core.encode_attributes({name: 1})  # type: ignore[dict-item]


def test_a_refused_pattern_names_the_position() -> None:
    with pytest.raises(InvalidInput, match="position 5"):
        _core.topic_matches("ward//x", "ward")
    with pytest.raises(InvalidInput, match="topic"):
        _core.topic_matches("#", "ward/+")
