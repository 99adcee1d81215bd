"""What is kept over a restart, as rows: a need, an offer, or the share of a guarded topic."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import msgspec

from giusto.protocol import NeedTerms, OfferTerms, ShareTerms


class KeptNeed(msgspec.Struct, frozen=True, tag="need"):
    """A need and its contract's key."""

    key: str
    client: str
    pattern: str
    need: NeedTerms
    comparisons: int = 0


class KeptOffer(msgspec.Struct, frozen=True, tag="offer"):
    """A flow that counts. `place` is the number of its topic where the order of topics matters."""

    client: str
    topic: str
    offer: OfferTerms
    place: int | None = None


class KeptShare(msgspec.Struct, frozen=True, tag="share"):
    """What a guarded topic is allotted, if that is not what the configuration says."""

    topic: str
    share: ShareTerms


Kept: TypeAlias = KeptNeed | KeptOffer | KeptShare


class Row(NamedTuple):
    """A row: what it is called, what it says, and the digest of both."""

    name: str
    body: bytes
    digest: bytes

    @property
    def is_whole(self) -> bool:
        """Whether it is as it was written."""
        return self.digest == _digest(self.name, self.body)


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Kept] = msgspec.msgpack.Decoder(Kept)


def name_of(kept: Kept) -> str:
    """The name of a row: what is kept under the same name is replaced."""
    match kept:
        case KeptNeed():
            return f"need {kept.key}"
        case KeptOffer():
            # Names may have blanks: the length says where the first one ends.
            return f"offer {len(kept.client)} {kept.client} {kept.topic}"
        case KeptShare():
            return f"share {kept.topic}"


def row_of(kept: Kept) -> Row:
    """The row of a value."""
    name, body = name_of(kept), _encoder.encode(kept)
    return Row(name, body, _digest(name, body))


def kept_in(row: Row) -> Kept | None:
    """The value of a row; none if it is not as it was written."""
    if not row.is_whole:
        return None
    try:
        return _decoder.decode(row.body)
    except msgspec.DecodeError:
        return None


def _digest(name: str, body: bytes) -> bytes:
    return blake2b(name.encode() + b"\0" + body, digest_size=16).digest()
