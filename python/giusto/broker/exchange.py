"""What the bytes of a client mean as a request, and how a failure is written back."""

from __future__ import annotations

import msgspec

from giusto.errors import GiustoError, Nearest, ProtocolError
from giusto.protocol import UNREADABLE, Failed, Request, decode_request

BODY_BYTES_MAX = 65_536


class NotConnected(GiustoError):
    """A request before Connect."""


def decode(body: bytes) -> Request:
    """The request; raises `ProtocolError` for anything else."""
    if len(body) > BODY_BYTES_MAX:
        raise ProtocolError(f"control frame: {len(body)} bytes, at most {BODY_BYTES_MAX}", 8)
    return decode_request(body)


def readable_id(body: bytes) -> int | None:
    """The id of a request that may be wrong otherwise."""
    try:
        return _any_request.decode(body).id
    except UNREADABLE:
        return None


class _AnyRequest(msgspec.Struct):
    id: int


_any_request = msgspec.msgpack.Decoder(_AnyRequest)


def failed(number: int, error: GiustoError) -> Failed:
    """The answer that lets a client raise the same error."""
    return Failed(id=number, error=type(error).__name__, args=[_plain(value) for value in error.args])


def _plain(value: object) -> object:
    """What a control frame can carry; of other values the text."""
    return value if isinstance(value, int | float | str | Nearest | tuple | None) else str(value)
