"""How one value becomes a payload and back, chosen once per type."""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin

import msgspec

from giusto.errors import InvalidInput, TooLarge
from giusto.message import models
from giusto.message.size import Size, raw_size, size

Value = TypeVar("Value")

_RAW = (bytes, bytearray, memoryview)
_encoder = msgspec.msgpack.Encoder()


@dataclass(frozen=True, slots=True)
class Codec(Generic[Value]):
    """`encode` and `decode` raise `InvalidInput` for what is not of the type, `TooLarge` beyond its size.

    `max_size_bytes` is `None` if the type does not limit it; `reason` then names the part that does not.
    """

    type: Any
    encode: Callable[[Value], bytes]
    decode: Callable[[bytes], Value]
    max_size_bytes: int | None
    reason: str = ""


def codec(type: Any) -> Codec[Any]:
    """The codec of a payload type: bytes, or anything that msgspec or pydantic can describe."""
    if _bare(type) in _RAW:
        return _codec(type, bytes, _as_bytes(_bare(type)), raw_size(type))
    if models.is_model(type):
        return _codec(type, _checked(type, models.dump), models.loader(type), models.size(type))
    try:
        decoder = msgspec.msgpack.Decoder(type)
        longest = size(type)
    except (TypeError, NameError) as error:
        raise InvalidInput("type", _name(type), f"a type that msgspec can encode: {error}") from None
    return _codec(type, _checked(type, _encoder.encode), decoder.decode, longest)


def _codec(
    type: Any, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any], longest: Size
) -> Codec[Any]:
    return Codec(type, _bounded(type, encode, longest.bytes), _readable(type, decode), *longest)


def _bounded(type: Any, encode: Callable[[Any], bytes], most: int | None) -> Callable[[Any], bytes]:
    """`encode` with errors of ours; msgspec itself does not look at constraints when it encodes."""

    def bounded(value: Any) -> bytes:
        try:
            body = encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidInput("payload", _name(builtins.type(value)), f"{_name(type)}: {error}") from None
        if most is not None and len(body) > most:
            raise TooLarge("payload", len(body), most)
        return body

    return bounded


def _readable(type: Any, decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def readable(body: bytes) -> Any:
        try:
            return decode(body)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise InvalidInput("payload", f"{len(body)} bytes", f"{_name(type)}: {error}") from None

    return readable


def _checked(type: Any, encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Refuse values of another class where the type is one whose values are all of it."""
    if not _is_record(type):
        return encode

    def checked(value: Any) -> bytes:
        if not isinstance(value, type):
            raise TypeError(f"not a {_name(builtins.type(value))}")
        return encode(value)

    return checked


def _is_record(type: Any) -> bool:
    if not isinstance(type, builtins.type):
        return False
    named = issubclass(type, tuple) and hasattr(type, "_fields")
    return (
        issubclass(type, msgspec.Struct) or dataclasses.is_dataclass(type) or named or models.is_model(type)
    )


def _bare(type: Any) -> Any:
    return get_args(type)[0] if get_origin(type) is Annotated else type


def _as_bytes(type: Any) -> Callable[[bytes], Any]:
    return (lambda body: body) if type is bytes else type


def _name(type: Any) -> str:
    return type.__name__ if isinstance(type, builtins.type) else str(type)
