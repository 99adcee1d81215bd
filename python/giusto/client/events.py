"""What a bus tells its user unasked: one frozen value per kind of event."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from giusto.contract import show_ns

if TYPE_CHECKING:
    from giusto.client.entity import AnyPublisher, AnySubscription

EVENTS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Miss:
    """Messages came later than the need allows, or further apart (`what` is `latency` or `separation`)."""

    subscription: AnySubscription
    topic: str
    what: str
    count: int
    worst_ns: int
    limit_ns: int

    def __str__(self) -> str:
        return (
            f"{self.topic}: {self.count} with a {self.what} above {show_ns(self.limit_ns)}, "
            f"at worst {show_ns(self.worst_ns)}"
        )


@dataclass(frozen=True, slots=True)
class Violation:
    """A contract was broken: by our own publisher (`policed`), or by the bus (`bound`)."""

    party: AnyPublisher | AnySubscription
    topic: str
    reason: str
    count: int
    worst_ns: int = 0

    def __str__(self) -> str:
        worst = f", at worst {show_ns(self.worst_ns)}" if self.worst_ns else ""
        return f"{self.topic}: {self.count} {self.reason}{worst}"


@dataclass(frozen=True, slots=True)
class Matchedness:
    """How many parties the other side has now: subscribers of a publisher, publishers of a subscription."""

    party: AnyPublisher | AnySubscription
    count: int

    def __str__(self) -> str:
        return f"{self.party.name}: {self.count} on the other side"


@dataclass(frozen=True, slots=True)
class Drop:
    """Messages were lost, and why: a reason of the broker, `inbox` (ours was full) or `gap` (datagrams).

    `party` is the publisher whose messages they were, or the subscription that misses them: an event for each
    subscription that covers the topic. `None` if there is no such party any more.
    """

    party: AnyPublisher | AnySubscription | None
    topic: str
    reason: str
    count: int

    def __str__(self) -> str:
        return f"{self.topic}: {self.count} dropped ({self.reason})"


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is lost.

    `unsent` messages had not left and are lost. At most `under_way` more had left without the broker having
    said that it took them: some of them may be lost too.
    """

    reason: str
    unsent: int
    under_way: int

    def __str__(self) -> str:
        return (
            f"connection lost: {self.reason}; {self.unsent} messages had not left, "
            f"at most {self.under_way} were under way"
        )


@dataclass(frozen=True, slots=True)
class Restored:
    """The connection is back after `after_ns`, with `run` of the broker.

    `failed` names the topics and patterns that the broker did not take again; they are closed.
    """

    after_ns: int
    run: str
    failed: tuple[str, ...] = ()

    def __str__(self) -> str:
        failed = f"; not restored: {', '.join(self.failed)}" if self.failed else ""
        return f"connection restored after {show_ns(self.after_ns)}{failed}"


Event: TypeAlias = Miss | Violation | Matchedness | Drop | Lost | Restored


class EventQueue:
    """Events that nobody has taken yet; the oldest go when there are too many, and are counted."""

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self.missed = 0

    def put(self, event: Event) -> None:
        """Add an event."""
        if len(self._waiting) >= EVENTS_MAX:
            self._waiting.popleft()
            self.missed += 1
        self._waiting.append(event)

    def take(self) -> Event | None:
        """The oldest event, if there is one."""
        return self._waiting.popleft() if self._waiting else None

    def __len__(self) -> int:
        return len(self._waiting)
