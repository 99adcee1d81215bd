"""The matcher against the meaning of the filter language, written down a second time in Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from giusto._core import Filter, Matcher, decode_attributes, encode_attributes

ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
TEXT: dict[str, Callable[[str, str], bool]] = {"prefix": str.startswith, "suffix": str.endswith}
SETS: dict[str, Callable[[Any, Any], bool]] = {"subset": operator.le, "superset": operator.ge}


def kind(value: object) -> str:
    """The types that compare with each other."""
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, frozenset):
        members = {type(member).__name__ for member in value}
        return f"set of {members.pop()}" if members else "set"
    return type(value).__name__


def literal(value: object) -> str:
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, frozenset):
        return "{" + ", ".join(literal(member) for member in sorted(value)) + "}"
    return repr(value)


def exact(value: Any) -> Any:
    """Numbers as fractions, so that Python does not round either."""
    return Fraction(value) if isinstance(value, int | float) else value


@dataclass(frozen=True, slots=True)
class Comparison:
    name: str
    sign: str
    constant: Any

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {literal(self.constant)}"

    def holds(self, event: dict[str, Any], wanted: bool) -> bool:
        """Whether the comparison holds (or fails, if that is wanted) and its attribute is there."""
        if self.name not in event:
            return False
        value, constant = event[self.name], self.constant
        if self.sign == "in":
            same = all(kind(member) == kind(value) for member in constant)
            return same and (exact(value) in {exact(member) for member in constant}) is wanted
        if kind(value) != kind(constant) and "set" not in (kind(value), kind(constant)):
            return False
        if isinstance(value, frozenset) != isinstance(constant, frozenset):
            return False
        return ({**ORDER, **TEXT, **SETS}[self.sign](exact(value), exact(constant))) is wanted


@dataclass(frozen=True, slots=True)
class Group:
    word: str
    parts: tuple[Any, ...]

    def __str__(self) -> str:
        if self.word == "not":
            return f"not ({self.parts[0]})"
        return "(" + f" {self.word} ".join(map(str, self.parts)) + ")"

    def holds(self, event: dict[str, Any], wanted: bool) -> bool:
        if self.word == "not":
            return bool(self.parts[0].holds(event, not wanted))
        every = (self.word == "and") is wanted
        return (all if every else any)(part.holds(event, wanted) for part in self.parts)


NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.sampled_from(
    [-1, 0, 0.5, 1, 2, 2.0, 2.5, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, float(2**63)]
)
TEXTS = st.text(alphabet="xyz", max_size=3)
INT_SETS = st.frozensets(st.integers(0, 3), max_size=3)
TEXT_SETS = st.frozensets(st.sampled_from(["x", "y", "xy"]), max_size=3)
SET_VALUES = INT_SETS | TEXT_SETS

COMPARISONS = st.one_of(
    st.builds(Comparison, NAMES, st.sampled_from(sorted(ORDER)), NUMBERS | TEXTS),
    st.builds(Comparison, NAMES, st.sampled_from(sorted(TEXT)), TEXTS),
    st.builds(Comparison, NAMES, st.just("in"), st.frozensets(NUMBERS, min_size=1, max_size=3)),
    st.builds(Comparison, NAMES, st.just("in"), st.frozensets(TEXTS, min_size=1, max_size=3)),
    st.builds(Comparison, NAMES, st.sampled_from([*SETS, "=", "!="]), SET_VALUES),
)
EXPRESSIONS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.builds(lambda word, parts: Group(word, tuple(parts)), st.sampled_from(["and", "or"]),
                  st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda part: Group("not", (part,)), inner),
    ),
    max_leaves=5,
)  # fmt: skip
EVENTS = st.dictionaries(NAMES, NUMBERS | TEXTS | SET_VALUES, max_size=3)


@given(EXPRESSIONS, EVENTS)
def test_a_filter_means_what_the_page_says(expression: Any, event: dict[str, Any]) -> None:
    filter = Filter(str(expression))
    assert filter.matches(event) is expression.holds(event, True)
    assert Filter(filter.canonical) == filter


@given(st.lists(EXPRESSIONS, max_size=12), st.data(), st.lists(EVENTS, min_size=1, max_size=4))
def test_the_matcher_finds_every_filter_that_matches(
    expressions: list[Any], data: st.DataObject, events: list[dict[str, Any]]
) -> None:
    matcher = Matcher()
    matcher.add_topic("stock")
    for number, expression in enumerate(expressions):
        matcher.subscribe(number, "stock", str(expression))
    gone = data.draw(st.sets(st.sampled_from(range(len(expressions))))) if expressions else set()
    for number in gone:
        matcher.unsubscribe(number)
    for event in events:
        expected = [
            n for n, expression in enumerate(expressions) if n not in gone and expression.holds(event, True)
        ]
        assert matcher.matching("stock", event) == expected


@given(EVENTS)
def test_encoding_and_decoding_is_the_identity(event: dict[str, Any]) -> None:
    assert decode_attributes(encode_attributes(event)) == event
