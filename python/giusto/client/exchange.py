"""Requests and replies over ordinary topics: which message answers which.

A request carries the topic for the reply (`_reply`) and a number (`_correlation`) as attributes; the reply
repeats the number. Numbers begin anywhere: a late reply to an earlier client of the same name is not taken
for one's own. A server answers on reply topics only: no requester can have it publish elsewhere. A handler
that raised is answered with its exception (`_error`, and the text as payload).

Requests and replies have no limit unless they are offered with one. A bus that publishes something with a
limit has a second connection for them: beside a topic under contract nothing may be without a limit.
"""

from __future__ import annotations

import itertools
import secrets
from typing import Any

from giusto import _core
from giusto.contract import Offer
from giusto.contract.offer import SIZE_BYTES_DEFAULT
from giusto.errors import RequestFailed

REPLY = "_reply"
PREFIX = "_reply/"
# No two names become the same level.
_ESCAPES = {"_": "__", "/": "_s", "+": "_p", "#": "_h"}
CORRELATION = "_correlation"
ERROR = "_error"
REPLIERS_MAX = 256
"""As many reply topics stay advertised."""
SECOND = "~"
"""What the name of the second connection has after that of the bus."""
ATTRIBUTES_BYTES = 256
"""More than the attributes of such a reply take."""
APOLOGY = Offer(min_sep="100ms", max_size=1024)
"""What a reply is offered with that says why there is none; it fits nearly everywhere."""


def reply_topic(client: str) -> str:
    """The topic on which a client gets its replies: its name as one level."""
    return PREFIX + "".join(_ESCAPES.get(letter, letter) for letter in client)


def is_reply_topic(topic: str) -> bool:
    """Whether a client could get its replies there."""
    return topic.startswith(PREFIX) and not {*"/+#"} & {*topic.removeprefix(PREFIX)}


class Exchange:
    """Questions that wait for their answers."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._numbers = itertools.count(secrets.randbits(48))
        self._replies: dict[int, _core.Message | None] = {}

    def ask(self) -> tuple[int, dict[str, Any]]:
        """A number for a question, and the attributes that the question carries."""
        number = next(self._numbers)
        self._replies[number] = None
        return number, {REPLY: self.topic, CORRELATION: number}

    def settle(self, reply: _core.Message) -> None:
        """Take a reply; one that nobody waits for is dropped."""
        number = reply.attributes.get(CORRELATION)
        if isinstance(number, int) and number in self._replies:
            self._replies[number] = reply

    def is_settled(self, number: int) -> bool:
        """Whether the reply is there."""
        return self._replies.get(number) is not None

    def take(self, number: int) -> _core.Message | None:
        """The reply, once; raises what the handler raised."""
        reply = self._replies.get(number)
        if reply is None:
            return None
        del self._replies[number]
        error = reply.attributes.get(ERROR)
        if error is not None:
            raise RequestFailed(str(error), reply.payload.decode(errors="replace"))
        return reply

    def forget(self, number: int) -> None:
        """Nobody waits for this reply any more."""
        self._replies.pop(number, None)


def question(message: _core.Message) -> tuple[str, dict[str, Any]] | None:
    """The reply topic and the reply's attributes, if the message is a request."""
    attributes = message.attributes
    topic, number = attributes.get(REPLY), attributes.get(CORRELATION)
    if not isinstance(topic, str) or not isinstance(number, int) or not is_reply_topic(topic):
        return None
    return topic, {CORRELATION: number}


def answer(result: object) -> bytes:
    """The payload of a reply: bytes as they are, nothing for `None`."""
    if result is None:
        return b""
    if isinstance(result, (bytes, bytearray, memoryview)):
        return bytes(result)
    raise TypeError(f"a handler returns bytes or None, not {type(result).__name__}")


def refusal(error: Exception, offer: Offer) -> tuple[bytes, dict[str, Any]]:
    """The payload of a reply to a request whose handler raised, as far as it fits, and further attributes."""
    size_bytes = offer.max_size_bytes or SIZE_BYTES_DEFAULT
    return str(error).encode()[: max(0, size_bytes - ATTRIBUTES_BYTES)], {ERROR: type(error).__name__}
