"""What publishers and subscriptions of both faces know besides the native part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from giusto.client.events import Drop, Matchedness, Miss, Violation
from giusto.client.report import Report, report
from giusto.contract import Need, Offer, Unproved, Verdict
from giusto.message import Codec

if TYPE_CHECKING:
    from giusto import _core

    _InboxBase = _core.Inbox
    _PublisherBase = _core.Publisher
else:
    _InboxBase = _PublisherBase = object


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


class AnyPublisher(_PublisherBase):
    """A topic that this client publishes on."""

    def describe(self, topic: str, offer: Offer, codec: Codec[Any] | None, handlers: Handlers) -> None:
        """Take the values that do not change."""
        self.topic = self.name = topic
        self.offer = offer
        self.codec = codec
        self.handlers = handlers
        self.matched = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.topic!r}, {self.offer!r})"


class AnySubscription(_InboxBase):
    """A pattern that this client is subscribed to."""

    def describe(
        self, pattern: str, need: Need, filter: str | None, codec: Codec[Any] | None, handlers: Handlers
    ) -> None:
        """Take the values that do not change."""
        self.pattern = self.name = pattern
        self.need = need
        self.filter = filter
        self.codec = codec
        self.handlers = handlers
        self.matched = 0
        self.verdict: Verdict = Unproved("not yet answered")
        self.number: int | None = None
        self.callback: Callable[[Any], object] | None = None

    @property
    def report(self) -> Report:
        """How the topics have been arriving since the subscription began."""
        return report(self.pattern, self.figures())

    def recent_report(self, span_ns: int) -> Report:
        """The same since this was last asked, `span_ns` ago."""
        return report(self.pattern, self.figures(recent=True), span_ns)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.pattern!r}, {self.need!r})"


Party: TypeAlias = AnyPublisher | AnySubscription


def publisher_options(offer: Offer, codec: Codec[Any] | None) -> dict[str, Any]:
    """What the native publisher has to know."""
    return {
        "timeout_ns": offer.timeout_ns,
        "max_size_bytes": offer.max_size_bytes,
        "encode": None if codec is None else codec.encode,
    }


def inbox_options(need: Need, codec: Codec[Any] | None, queue: int, overflow: str) -> dict[str, Any]:
    """What the native inbox has to know."""
    return {
        "messages": queue,
        "overflow": overflow,
        "late_ns": need.latest_ns or 0,
        "sep_ns": need.max_sep_ns or 0,
        "decode": None if codec is None else codec.decode,
    }
