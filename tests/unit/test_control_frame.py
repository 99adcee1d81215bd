"""Control frames that fuzzing found to be neither understood nor refused."""

from __future__ import annotations

import pytest

from giusto import protocol
from giusto.errors import ProtocolError


def test_text_that_is_not_utf8_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="utf-8"):
        protocol.decode_request(b"\x81\xa2op\xa2\xc3\x28")
