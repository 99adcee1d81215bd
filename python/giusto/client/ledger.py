"""What a client has asked, what it has, and what it was told: the part that both faces share.

Everything here is without waiting. An operation (`giusto.client.operation`) asks through the ledger, the
face waits, and `settle` takes what the broker said. A face whose threads share a ledger has a lock for it:
expecting, settling, forgetting and asking for an end are one step each for all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from giusto import _core, errors
from giusto.client.entity import AnyPublisher, AnySubscription, Party
from giusto.client.events import Drop, Event, Matchedness, Miss, Violation
from giusto.contract import verdict
from giusto.errors import GiustoError
from giusto.protocol import (
    Advertised,
    Answer,
    Closing,
    Dropped,
    Failed,
    Matched,
    Subscribed,
    Unadvertise,
    Unsubscribe,
    VerdictIs,
    decode_reply,
)

Note = tuple[int, str, str, int, int]
"""Of the native session: inbox, topic, occasion, count, worst_ns."""


class Ledger:
    """Requests without an answer, publishers and subscriptions, and the numbers that the broker gave them."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._answers: dict[int, Answer | GiustoError | None] = {}
        self._asked_for: dict[int, Party | None] = {}
        self._abandoned: set[int] = set()
        self._undo: list[Unadvertise | Unsubscribe] = []
        self.publishers: dict[str, AnyPublisher] = {}
        self.subscriptions: dict[int, AnySubscription] = {}
        self._flows: dict[int, AnyPublisher] = {}
        self._numbers: dict[int, AnySubscription] = {}
        self.closing = ""

    # --- requests

    def next_id(self) -> int:
        """An id for a request."""
        return next(self._ids)

    def expect(self, number: int, party: Party | None = None) -> None:
        """The request is sent now: an answer may come; if it is good, it is for `party`."""
        self._answers[number] = None
        self._asked_for[number] = party

    def is_expected(self, number: int) -> bool:
        """Whether somebody waits for this answer."""
        return number in self._answers

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
        """Nobody waits for this answer any more: what it gives, if it gives something, is given back."""
        if number not in self._answers:
            return
        answer = self._answers.pop(number)
        if answer is None:
            self._abandoned.add(number)
            self._asked_for.pop(number, None)
        elif isinstance(answer, Answer):
            self._give_back(answer)

    def _give_back(self, answer: Answer) -> None:
        match answer:
            case Advertised():
                self._flows.pop(answer.flow, None)
                self._undo.append(Unadvertise(id=self.next_id(), flow=answer.flow))
            case Subscribed():
                self._numbers.pop(answer.subscription, None)
                self._undo.append(Unsubscribe(id=self.next_id(), subscription=answer.subscription))

    def take_undo(self) -> list[Unadvertise | Unsubscribe]:
        """Requests that give back what nobody wants any more; nobody waits for their answers."""
        undo, self._undo = self._undo, []
        return undo

    def fail_requests(self, error: GiustoError) -> None:
        """No answer will come to what was asked so far."""
        self._abandoned.clear()
        self._undo.clear()
        self._asked_for.clear()
        for number, answer in list(self._answers.items()):
            if answer is None:
                self._answers[number] = error

    # --- parties

    def drop_publisher(self, publisher: AnyPublisher) -> None:
        """The publisher is no more; the broker may still know it."""
        if self.has(publisher):
            del self.publishers[publisher.topic]

    def drop_subscription(self, subscription: AnySubscription) -> None:
        """The subscription is no more; the broker may still know it."""
        self.subscriptions.pop(subscription.key, None)

    def has(self, publisher: AnyPublisher) -> bool:
        """Whether it is this one that publishes on its topic."""
        return self.publishers.get(publisher.topic) is publisher

    def established_subscriptions(self) -> Iterator[AnySubscription]:
        """Those that the broker had taken, neither those being asked for nor those that end meanwhile."""
        for subscription in list(self.subscriptions.values()):
            if subscription.is_established and subscription.key in self.subscriptions:
                yield subscription

    def established_publishers(self) -> Iterator[AnyPublisher]:
        """The same of publishers."""
        for publisher in list(self.publishers.values()):
            if publisher.is_established and self.has(publisher):
                yield publisher

    def end_of_publisher(self, publisher: AnyPublisher, number: int) -> Unadvertise | None:
        """The request that takes the publisher back, if the broker knows it on this connection."""
        flow = _remove(self._flows, publisher)
        return None if flow is None else Unadvertise(id=number, flow=flow)

    def end_of_subscription(self, subscription: AnySubscription, number: int) -> Unsubscribe | None:
        """The request that ends the subscription, if the broker knows it on this connection."""
        subscription.number = None
        known = _remove(self._numbers, subscription)
        return None if known is None else Unsubscribe(id=number, subscription=known)

    def forget_numbers(self) -> None:
        """Another connection begins: the numbers of the last one may stand for others there."""
        for subscription in list(self._numbers.values()):
            subscription.number = None
        self._flows.clear()
        self._numbers.clear()
        self.closing = ""

    # --- what the broker and the native session say

    def settle(self, body: bytes) -> Iterator[Event]:
        """Take a control body; the events that follow from it."""
        message = decode_reply(body)
        match message:
            case Answer():
                self._answered(message)
            case Matched():
                yield from self._matched(message)
            case Dropped():
                yield from self._dropped(message)
            case VerdictIs():
                self._judged(message)
            case Closing():
                self.closing = message.reason

    def _answered(self, answer: Answer) -> None:
        if answer.id in self._abandoned:
            self._abandoned.discard(answer.id)
            self._give_back(answer)
        elif answer.id in self._answers:
            # At once, not when its asker wakes up: what comes behind it may be about the party already.
            self._keep(self._asked_for.pop(answer.id, None), answer)
            self._answers[answer.id] = answer

    def _keep(self, party: Party | None, answer: Answer) -> None:
        """The broker knows the party under the number in the answer."""
        match party, answer:
            case AnyPublisher(), Advertised():
                self._flows[answer.flow] = party
                party.is_established = True
                party.matched = answer.subscribers
                party._bind(answer.flow, answer.credit)
            case AnySubscription(), Subscribed():
                self._numbers[answer.subscription] = party
                party.is_established = True
                party.number, party.matched = answer.subscription, answer.publishers
                party.verdict = verdict(answer.verdict)
                party._set_bound(answer.verdict.promise_ns or 0)
                need = party.need
                worth = None if need.deadline_ns is None else (need.price, need.penalty)
                party._tell_records(answer.subscription, need.deadline_ns, answer.verdict.promise_ns, worth)

    def _matched(self, notice: Matched) -> Iterator[Event]:
        party = self._party(notice.flow, notice.subscription)
        if party is not None and party.matched != notice.count:
            party.matched = notice.count
            yield Matchedness(party, notice.count)

    def _judged(self, notice: VerdictIs) -> None:
        subscription = self._numbers.get(notice.subscription)
        if subscription is not None:
            subscription.verdict = verdict(notice.verdict)

    def _party(self, flow: int | None, subscription: int | None) -> Party | None:
        if flow is not None:
            return self._flows.get(flow)
        return None if subscription is None else self._numbers.get(subscription)

    def _dropped(self, notice: Dropped) -> Iterator[Event]:
        publisher = None if notice.flow is None else self._flows.get(notice.flow)
        if publisher is not None and notice.reason == "policed":
            yield Violation(publisher, notice.topic, notice.reason, notice.count)
            return
        for party in [publisher] if notice.flow is not None else self._missing(notice.topic):
            yield Drop(party, notice.topic, notice.reason, notice.count)

    def _missing(self, topic: str) -> list[AnySubscription | None]:
        """The subscriptions that miss a message of the topic, or nobody: the broker counts per client."""
        ours = list(self.subscriptions.values())
        return [one for one in ours if _core.topic_matches(one.pattern, topic)] or [None]

    def notes(self, notes: Iterable[Note], *, gaps: bool) -> Iterator[Event]:
        """The events that follow from notes; `gaps` are told only where the broker does not."""
        for key, topic, occasion, count, worst_ns in notes:
            subscription = self.subscriptions.get(key)
            if subscription is not None and (gaps or occasion != "gap"):
                yield _event(subscription, topic, occasion, count, worst_ns)


def _remove(numbers: dict[int, Any], party: Party) -> int | None:
    number = next((number for number, one in numbers.items() if one is party), None)
    if number is not None:
        del numbers[number]
    return number


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
