"""What publishers and subscriptions of both faces know besides the native part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from giusto import _core
from giusto.client.events import Drop, Matchedness, Miss, Violation
from giusto.client.report import Report, report
from giusto.contract import Need, Offer, Unproved, Verdict
from giusto.contract.offer import SIZE_BYTES_DEFAULT, SIZE_BYTES_MAX
from giusto.errors import InvalidInput
from giusto.message import Codec, codec

if TYPE_CHECKING:
    _InboxBase = _core.Inbox
    _PublisherBase = _core.Publisher
else:
    _InboxBase = _PublisherBase = object

ATTRIBUTES_BYTES = 256
"""Room for attributes where only the size of the payload is known."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """Functions that are called with an event."""

    on_miss: Callable[[Miss], object] | None = None
    on_violation: Callable[[Violation], object] | None = None
    on_matched: Callable[[Matchedness], object] | None = None
    on_drop: Callable[[Drop], object] | None = None

    def __bool__(self) -> bool:
        return any((self.on_miss, self.on_violation, self.on_matched, self.on_drop))

    def of(self, event: object) -> Callable[[Any], object] | None:
        """The function for this event."""
        match event:
            case Miss():
                return self.on_miss
            case Violation():
                return self.on_violation
            case Matchedness():
                return self.on_matched
            case Drop():
                return self.on_drop
        return None


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a publisher is made from."""

    topic: str
    offer: Offer
    codec: Codec[Any] | None
    handlers: Handlers

    def native(self) -> dict[str, Any]:
        """What the native part has to know."""
        return {
            "timeout_ns": self.offer.timeout_ns,
            "max_size_bytes": self.offer.max_size_bytes or SIZE_BYTES_DEFAULT,
            "encode": None if self.codec is None else self.codec.encode,
        }


@dataclass(frozen=True, slots=True)
class Interest:
    """What a subscription is made from."""

    pattern: str
    need: Need
    filter: str | None
    codec: Codec[Any] | None
    handlers: Handlers
    queue: int
    overflow: str

    def native(self) -> dict[str, Any]:
        """What the native part has to know."""
        return {
            "pattern": self.pattern,
            "filter": self.filter,
            "messages": self.queue,
            "overflow": self.overflow,
            "late_ns": self.need.latest_ns or 0,
            "sep_ns": self.need.max_sep_ns or 0,
            "decode": None if self.codec is None else self.codec.decode,
        }


def announcement(
    topic: str, offer: Offer | None, type: Any, handlers: Mapping[str, Callable[..., object] | None]
) -> Announcement:
    """What was asked of `advertise`; the payload's type implies a size if the offer names none.

    The size of an offer is that of payload and attributes together.
    """
    _require(topic, str, "topic", "text, such as ward/3/alarm")
    _require(offer, Offer | None, "offer", "a giusto.Offer")
    offer = offer or Offer()
    coded = None if type is None else codec(type)
    if coded is not None and coded.max_size_bytes is not None and offer.max_size_bytes is None:
        size_bytes = min(coded.max_size_bytes + ATTRIBUTES_BYTES, SIZE_BYTES_MAX)
        offer = Offer.from_terms(replace(offer.terms(), max_size_bytes=size_bytes))
    return Announcement(topic, offer, coded, _handlers(handlers))


def interest(
    pattern: str,
    need: Need | None,
    filter: str | _core.Filter | None,
    type: Any,
    queue: int,
    overflow: str,
    handlers: Mapping[str, Callable[..., object] | None],
) -> Interest:
    """What was asked of `subscribe`."""
    _require(pattern, str, "pattern", "text, such as ward/+/alarm")
    _require(need, Need | None, "need", 'a giusto.Need, such as Need(max_latency="5ms")')
    _require(filter, str | _core.Filter | None, "filter", "text, such as spo2 < 90")
    _require(overflow, str, "overflow", "drop_oldest or drop_new")
    if not isinstance(queue, int) or queue < 1:
        raise InvalidInput("queue", queue, "a whole number of messages, at least 1")
    text = filter if filter is None or isinstance(filter, _core.Filter) else _core.Filter(filter)
    coded = None if type is None else codec(type)
    canonical = None if text is None else str(text)
    return Interest(pattern, need or Need(), canonical, coded, _handlers(handlers), queue, overflow)


def _require(value: object, kind: Any, field: str, expected: str) -> None:
    if not isinstance(value, kind):
        raise InvalidInput(field, repr(value), expected)


def _handlers(given: Mapping[str, Callable[..., object] | None]) -> Handlers:
    for name, handler in given.items():
        if handler is not None and not callable(handler):
            raise InvalidInput(name, handler, "a function")
    return Handlers(**given)


class AnyPublisher(_PublisherBase):
    """A topic that this client publishes on."""

    def _describe(self, made_from: Announcement) -> None:
        """Take the values that do not change."""
        self.topic = self.name = made_from.topic
        self.offer = made_from.offer
        self.handlers = made_from.handlers
        self.matched = 0
        self.is_established = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.topic!r}, {self.offer!r})"


class AnySubscription(_InboxBase):
    """A pattern that this client is subscribed to."""

    def _describe(self, made_from: Interest, now_ns: int) -> None:
        """Take the values that do not change."""
        self._reported_ns = now_ns
        self.pattern = self.name = made_from.pattern
        self.need = made_from.need
        self.filter = made_from.filter
        self.handlers = made_from.handlers
        self.matched = 0
        self.is_established = False
        self.verdict: Verdict = Unproved("not yet answered")
        self.number: int | None = None
        self.callback: Callable[[Any], object] | None = None

    @property
    def report(self) -> Report:
        """How the topics have been arriving since the subscription began."""
        return report(self.pattern, self._figures())

    def _recent_report(self, now_ns: int) -> Report:
        """The same since this was last asked, or since the subscription began."""
        span_ns, self._reported_ns = now_ns - self._reported_ns, now_ns
        return report(self.pattern, self._figures(recent=True), span_ns)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.pattern!r}, {self.need!r})"


Party: TypeAlias = AnyPublisher | AnySubscription
