"""How long the msgpack encoding of any value of a type can be, if the type says so.

The type is walked as msgspec sees it. A number is as long as the longer end of its range, a text as long as
`max_length` characters of four bytes, a union as long as its longest member. The first part without a limit
ends the walk: the size is then unknown, and the reason names the part and what to add.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

UTF8_BYTES_MAX = 4
INT_MIN, INT_MAX = -(2**63), 2**64 - 1
# What msgspec writes for the types whose encoding has a constant longest form.
CONSTANT: dict[type[inspect.Type], int] = {
    inspect.NoneType: 1,
    inspect.BoolType: 1,
    inspect.FloatType: 9,
    inspect.DateType: 1 + len("9999-12-31"),
    inspect.UUIDType: 2 + 36,
    inspect.TimeDeltaType: 1 + len("-P999999998DT86399.999999S"),
}
AWARE_DATETIME = 3 + 12  # the timestamp extension with 96 bits
NAIVE_DATETIME = 1 + len("9999-12-31T23:59:59.999999")
NAIVE_TIME = 1 + len("23:59:59.999999")
AWARE_TIME = NAIVE_TIME + len("+23:59")


class Size(NamedTuple):
    """At most `bytes`; or `None` and the reason why no maximum is known."""

    bytes: int | None
    reason: str = ""


class _Unbounded(Exception):
    """The first part of a type that has no limit: ends the walk."""


def size(type: Any) -> Size:
    """The longest encoding of any value of `type`; raises `TypeError` for what msgspec cannot encode."""
    try:
        return Size(_Walk().longest(inspect.type_info(type), ""))
    except _Unbounded as part:
        return Size(None, str(part))


def raw_size(type: Any) -> Size:
    """The longest value of a bytes type that travels as it is."""
    info = inspect.type_info(type)
    longest = getattr(info, "max_length", None)
    return Size(longest, "" if longest is not None else _lacks("", "bytes", "max_length"))


class _Walk:
    """One walk over a type; remembers where it is, because types may contain themselves."""

    def __init__(self) -> None:
        self._inside: set[int] = set()

    def longest(self, info: inspect.Type, path: str) -> int:
        if (constant := CONSTANT.get(type(info))) is not None:
            return constant
        if id(info) in self._inside:
            raise _Unbounded(f"{path or 'the type'}: contains itself, so that nothing limits its size")
        self._inside.add(id(info))
        total = self._scalar(info, path)
        if total is None:
            total = self._container(info, path)
        self._inside.remove(id(info))
        return total

    def _scalar(self, info: inspect.Type, path: str) -> int | None:
        match info:
            case inspect.IntType():
                return _of_range(info)
            case inspect.StrType():
                return _text(UTF8_BYTES_MAX * _limit(info.max_length, path, "str", "max_length"))
            case inspect.BytesType() | inspect.ByteArrayType() | inspect.MemoryViewType():
                return _binary(_limit(info.max_length, path, "bytes", "max_length"))
            case inspect.DateTimeType(tz=tz):
                return AWARE_DATETIME if tz else NAIVE_DATETIME
            case inspect.TimeType(tz=tz):
                return NAIVE_TIME if tz is False else AWARE_TIME
            case inspect.LiteralType(values=values):
                return _of_values(values)
            case inspect.EnumType(cls=cls):
                return _of_values(member.value for member in cls)
        return None

    def _container(self, info: inspect.Type, path: str) -> int:
        match info:
            case inspect.UnionType(types=types):
                return max(self.longest(each, path) for each in types)
            case inspect.TupleType(item_types=items):
                parts = (self.longest(item, f"{path}[{place}]") for place, item in enumerate(items))
                return _header(len(items)) + sum(parts)
            case inspect.CollectionType(max_length=count):
                count = _limit(count, path, "collection", "max_length")
                return _header(count) + count * (self.longest(info.item_type, f"{path}[]") if count else 0)
            case inspect.DictType(max_length=count):
                count = _limit(count, path, "dict", "max_length")
                return _header(count) + count * (self._pair(info, path) if count else 0)
            case inspect.StructType():
                return self._struct(info, path)
            case inspect.NamedTupleType(fields=fields):
                return _header(len(fields)) + sum(self._values(fields, path))
            case inspect.DataclassType(fields=fields) | inspect.TypedDictType(fields=fields):
                return _header(len(fields)) + _keys(fields) + sum(self._values(fields, path))
            case inspect.CustomType(cls=cls):
                raise TypeError(f"{path or 'it'} is a plain class, {cls.__name__}: make it a dataclass")
        raise _Unbounded(f"{path or 'the type'}: nothing limits the size of {_name(info)}")

    def _pair(self, info: inspect.DictType, path: str) -> int:
        return self.longest(info.key_type, f"{path}.keys()") + self.longest(info.value_type, f"{path}[]")

    def _struct(self, info: inspect.StructType, path: str) -> int:
        tagged = info.tag is not None
        keys = 0 if info.array_like else _keys(info.fields) + (_of_values([info.tag_field]) if tagged else 0)
        tag = _of_values([info.tag]) if tagged else 0
        return _header(len(info.fields) + tagged) + keys + tag + sum(self._values(info.fields, path))

    def _values(self, fields: Iterable[inspect.Field], path: str) -> list[int]:
        return [self.longest(field.type, f"{path}.{field.name}".removeprefix(".")) for field in fields]


def _limit(limit: int | None, path: str, kind: str, constraint: str) -> int:
    if limit is None:
        raise _Unbounded(_lacks(path, kind, constraint))
    return limit


def _lacks(path: str, kind: str, constraint: str) -> str:
    return f"{path or 'the type'}: a {kind} without {constraint}; add msgspec.Meta({constraint}=…)"


def _keys(fields: Iterable[inspect.Field]) -> int:
    return sum(_of_values([field.encode_name]) for field in fields)


def _of_values(values: Iterable[object]) -> int:
    """The longest encoding of some known values."""
    return max((len(msgspec.msgpack.encode(value)) for value in values), default=0)


def _of_range(info: inspect.IntType) -> int:
    """The longer end of a range: encodings grow with the distance from 0."""
    least = max([INT_MIN, *(bound for bound in (info.ge, info.gt) if bound is not None)])
    most = min([INT_MAX, *(bound for bound in (info.le, info.lt) if bound is not None)])
    return _of_values([least + (least == info.gt), most - (most == info.lt)])


def _text(length: int) -> int:
    return length + (1 if length < 32 else _header_after(length))


def _binary(length: int) -> int:
    return length + _header_after(length)


def _header_after(length: int) -> int:
    return 2 if length < 2**8 else 3 if length < 2**16 else 5


def _header(count: int) -> int:
    """In front of an array or a map."""
    return 1 if count < 16 else 3 if count < 2**16 else 5


def _name(info: inspect.Type) -> str:
    return type(info).__name__.removesuffix("Type")
