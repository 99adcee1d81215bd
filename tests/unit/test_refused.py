"""A refusal as data: it survives pickling and the wire, and says what would be granted."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from giusto.broker.exchange import failed
from giusto.client.ledger import failure
from giusto.errors import GiustoError, Nearest, NotKept, Refused
from giusto.protocol import Failed, decode_reply, encode

REFUSALS = [
    Refused("latency", "too soon", Nearest(683_838)),
    Refused("others", "too much", Nearest(None, 3, 10_000_000, ("bed-1", "bed-2"))),
    Refused("latency", "too soon", Nearest(7), (("blocking", 3, "A3"), ("own quantum", 4, "A2"))),
    Refused("no_limit", "no limit"),
    NotKept("/contracts.db", "disk full"),
]


@pytest.mark.parametrize("error", REFUSALS)
def test_a_refusal_arrives_as_it_was_raised(error: GiustoError) -> None:
    answer = decode_reply(encode(failed(7, error)))
    assert isinstance(answer, Failed)
    for again in (failure(answer), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert again.args == error.args
        assert str(again) == str(error)


def test_the_nearest_is_said_unless_the_reason_says_it() -> None:
    assert str(REFUSALS[0]) == "too soon; the nearest that is possible: a max_latency of 0.683838 ms"
    assert str(Refused("max_sep", "the publisher sends too seldom", Nearest(None, 1, 5))) == (
        "the publisher sends too seldom"
    )


def test_a_nearest_of_another_shape_does_not_break_the_client() -> None:
    answer = Failed(id=1, error="Refused", args=["latency", "too soon", [*range(8)]])
    error = failure(msgspec.msgpack.decode(msgspec.msgpack.encode(answer), type=Failed))
    assert type(error) is GiustoError
