"""No value of a type encodes longer than the size that was inferred from the type.

Types are drawn together with a strategy for their values and one value that is as long as can be.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from giusto.message import codec

Meta = msgspec.Meta
LONG = "\U0001f600"


class Kind(NamedTuple):
    """A type, a strategy for its values, and one that encodes as long as any."""

    type: Any
    values: st.SearchStrategy[Any]
    longest: Any


def integers(ends: tuple[int, int]) -> Kind:
    low, high = min(ends), max(ends)
    longest = max((low, high), key=lambda end: len(msgspec.msgpack.encode(end)))
    return Kind(Annotated[int, Meta(ge=low, le=high)], st.integers(low, high), longest)


def texts(length: int) -> Kind:
    return Kind(
        Annotated[str, Meta(max_length=length)],
        st.text(st.characters(exclude_categories=["Cs"]), max_size=length),
        LONG * length,
    )


def blobs(length: int) -> Kind:
    return Kind(Annotated[bytes, Meta(max_length=length)], st.binary(max_size=length), bytes(length))


def literals(words: list[str]) -> Kind:
    longest = max(words, key=lambda word: len(msgspec.msgpack.encode(word)))
    return Kind(Literal[tuple(words)], st.sampled_from(words), longest)


def lists(drawn: tuple[Kind, int]) -> Kind:
    item, length = drawn
    values = st.lists(item.values, max_size=length)
    return Kind(Annotated[list[item.type], Meta(max_length=length)], values, [item.longest] * length)


def pairs(drawn: list[Kind]) -> Kind:
    values = st.tuples(*(kind.values for kind in drawn))
    return Kind(tuple[tuple(kind.type for kind in drawn)], values, tuple(kind.longest for kind in drawn))


def optional(kind: Kind) -> Kind:
    return Kind(kind.type | None, st.none() | kind.values, kind.longest)


def structs(drawn: tuple[list[Kind], bool, bool]) -> Kind:
    kinds, array_like, tag = drawn
    fields = [(f"field_{place}", kind.type) for place, kind in enumerate(kinds)]
    made = msgspec.defstruct("Made", fields, array_like=array_like, tag=tag)
    values = st.builds(made, *(kind.values for kind in kinds))
    return Kind(made, values, made(*(kind.longest for kind in kinds)))


CONSTANT = [
    Kind(bool, st.booleans(), True),
    Kind(float, st.floats(), 0.5),
    Kind(datetime.date, st.dates(), datetime.date.max),
    Kind(datetime.datetime, st.datetimes(), datetime.datetime.max),
    Kind(datetime.timedelta, st.timedeltas(), datetime.timedelta(days=-999_999_999, microseconds=1)),
]
words = st.text("ab\u00e9", max_size=40)
int64 = st.integers(-(2**63), 2**63 - 1)
leaves = st.one_of(
    st.sampled_from(CONSTANT),
    st.tuples(int64, int64).map(integers),
    st.integers(0, 70).map(texts),
    st.integers(0, 300).map(blobs),
    st.lists(words, min_size=1, max_size=4, unique=True).map(literals),
)
kinds: st.SearchStrategy[Kind] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.integers(0, 20)).map(lists),
        st.lists(inner, min_size=1, max_size=4).map(pairs),
        st.tuples(st.lists(inner, max_size=4), st.booleans(), st.booleans()).map(structs),
        inner.map(optional),
    ),
    max_leaves=8,
)
packed = kinds.filter(
    lambda kind: not msgspec.inspect.type_info(kind.type).__class__.__name__.startswith("Bytes")
)


@given(st.data(), packed)
def test_no_value_is_longer_than_the_size_of_its_type(data: st.DataObject, kind: Kind) -> None:
    found = codec(kind.type)
    value = data.draw(kind.values)
    assert found.max_size_bytes is not None
    assert len(msgspec.msgpack.encode(value)) <= found.max_size_bytes


@given(packed)
def test_the_size_of_a_type_is_the_length_of_its_longest_value(kind: Kind) -> None:
    found = codec(kind.type)
    assert len(msgspec.msgpack.encode(kind.longest)) == found.max_size_bytes


@given(st.data(), packed)
def test_what_is_encoded_is_decoded(data: st.DataObject, kind: Kind) -> None:
    found = codec(kind.type)
    body = found.encode(data.draw(kind.values))
    assert found.encode(found.decode(body)) == body
