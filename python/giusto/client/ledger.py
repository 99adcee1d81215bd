"""What a client has asked, what it has, and what it was told: the part that both faces share.

Everything here is without waiting, and several threads may call at once: no step leaves a table half
done. An operation (`giusto.client.operation`) asks through the ledger, the face waits, and `settle` takes
what the broker said.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from giusto import errors
from giusto.client.entity import AnyPublisher, AnySubscription, Party
from giusto.client.events import Drop, Event, Matchedness, Miss, Violation
from giusto.errors import GiustoError
from giusto.protocol import Answer, Closing, Dropped, Failed, Matched, decode_reply

Note = tuple[int, str, str, int, int]
"""Of the native session: inbox, topic, occasion, count, worst_ns."""


class Ledger:
    """Requests without an answer, publishers and subscriptions, and the numbers that the broker gave them."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._answers: dict[int, Answer | GiustoError | None] = {}
        self.publishers: dict[str, AnyPublisher] = {}
        self.subscriptions: dict[int, AnySubscription] = {}
        self._flows: dict[int, AnyPublisher] = {}
        self._numbers: dict[int, AnySubscription] = {}
        self.closing = ""

    # --- requests

    def next_id(self) -> int:
        """An id for a request, whose answer is expected from now on."""
        number = next(self._ids)
        self._answers[number] = None
        return number

    def is_answered(self, number: int) -> bool:
        """Whether the answer is there."""
        return self._answers.get(number) is not None

    def take_answer(self, number: int) -> Answer | None:
        """The answer, once; none if it is not there. Raises what the broker refused the request with."""
        answer = self._answers.get(number)
        if answer is None:
            return None
        del self._answers[number]
        if isinstance(answer, GiustoError):
            raise answer
        if isinstance(answer, Failed):
            raise failure(answer)
        return answer

    def forget_request(self, number: int) -> None:
        """Nobody waits for this answer any more."""
        self._answers.pop(number, None)

    def fail_requests(self, error: GiustoError) -> None:
        """No answer will come to what was asked so far."""
        for number, answer in list(self._answers.items()):
            if answer is None:
                self._answers[number] = error

    # --- parties

    def keep_flow(self, number: int, publisher: AnyPublisher) -> None:
        """The broker knows the publisher's flow under this number."""
        self._flows[number] = publisher

    def keep_subscription(self, number: int, subscription: AnySubscription) -> None:
        """The broker knows the subscription under this number."""
        self._numbers[number] = subscription
        subscription.number = number

    def drop_publisher(self, publisher: AnyPublisher) -> None:
        """The publisher is no more."""
        self.publishers.pop(publisher.topic, None)
        _remove(self._flows, publisher)

    def drop_subscription(self, subscription: AnySubscription) -> None:
        """The subscription is no more."""
        self.subscriptions.pop(subscription.key, None)
        _remove(self._numbers, subscription)

    def forget_numbers(self) -> None:
        """Another connection begins."""
        self._flows.clear()
        self._numbers.clear()
        self.closing = ""

    # --- what the broker and the native session say

    def settle(self, body: bytes) -> Iterator[Event]:
        """Take a control body; the events that follow from it."""
        message = decode_reply(body)
        match message:
            case Answer():
                if message.id in self._answers:
                    self._answers[message.id] = message
            case Matched():
                yield from self._matched(message)
            case Dropped():
                yield self._dropped(message)
            case Closing():
                self.closing = message.reason

    def _matched(self, notice: Matched) -> Iterator[Event]:
        party = self._party(notice.flow, notice.subscription)
        if party is not None and party.matched != notice.count:
            party.matched = notice.count
            yield Matchedness(party, notice.count)

    def _party(self, flow: int | None, subscription: int | None) -> Party | None:
        if flow is not None:
            return self._flows.get(flow)
        return None if subscription is None else self._numbers.get(subscription)

    def _dropped(self, notice: Dropped) -> Event:
        publisher = None if notice.flow is None else self._flows.get(notice.flow)
        if publisher is not None and notice.reason == "policed":
            return Violation(publisher, notice.topic, notice.reason, notice.count)
        return Drop(publisher, notice.topic, notice.reason, notice.count)

    def notes(self, notes: Iterable[Note], *, gaps: bool) -> Iterator[Event]:
        """The events that follow from notes; `gaps` are told only where the broker does not."""
        for key, topic, occasion, count, worst_ns in notes:
            subscription = self.subscriptions.get(key)
            if subscription is not None and (gaps or occasion != "gap"):
                yield _event(subscription, topic, occasion, count, worst_ns)


def _remove(numbers: dict[int, Any], party: Party) -> None:
    for number, one in list(numbers.items()):
        if one is party:
            numbers.pop(number, None)


def _event(subscription: AnySubscription, topic: str, occasion: str, count: int, worst_ns: int) -> Event:
    need = subscription.need
    match occasion:
        case "late":
            return Miss(subscription, topic, "latency", count, worst_ns, need.latest_ns or 0)
        case "apart":
            return Miss(subscription, topic, "separation", count, worst_ns, need.max_sep_ns or 0)
        case "bound":
            return Violation(subscription, topic, "bound", count, worst_ns)
    return Drop(subscription, topic, "inbox" if occasion == "full" else occasion, count)


def failure(answer: Failed) -> GiustoError:
    """The exception that a broker refused a request with."""
    kind: Any = getattr(errors, answer.error, None)
    if isinstance(kind, type) and issubclass(kind, GiustoError):
        try:
            return kind(*answer.args)
        except TypeError:
            pass
    return GiustoError(f"{answer.error}: {', '.join(map(str, answer.args))}")
