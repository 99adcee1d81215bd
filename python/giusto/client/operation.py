"""What a bus does step by step, without waiting: generators that the faces drive.

An operation yields what it needs done and is sent the outcome: a request (its answer), `Open` (a new
connection to the broker) or `Pause`. The blocking face blocks, the asyncio face awaits; nothing else
differs between them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from giusto import _core
from giusto.client.backoff import delay_ns
from giusto.client.entity import AnyPublisher, AnySubscription
from giusto.client.events import Restored
from giusto.client.ledger import Ledger
from giusto.contract import verdict
from giusto.errors import Duplicate, GiustoError
from giusto.protocol import (
    Advertise,
    Advertised,
    Allot,
    AnyRequest,
    Connect,
    Connected,
    Parties,
    Party,
    Publishers,
    ShareTerms,
    Status,
    StatusIs,
    Subscribe,
    Subscribed,
    Subscribers,
    Unadvertise,
    Unsubscribe,
    Views,
    ViewsAre,
)


@dataclass(frozen=True, slots=True)
class Open:
    """Connect to the broker's address anew."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Let some time pass."""

    nanoseconds: int


Step: TypeAlias = AnyRequest | Open | Pause
_Result = TypeVar("_Result")
Operation: TypeAlias = Generator[Step, Any, _Result]


def connect(ledger: Ledger, native: _core.Connection, name: str) -> Operation[Connected]:
    """Open the connection and introduce the client."""
    yield Open()
    request = Connect(id=ledger.next_id(), name=name, version=_core.VERSION, udp_port=native.udp_port)
    connected: Connected = yield request
    if native.udp_port is not None and connected.udp_port is not None:
        native.connect_udp(connected.udp_port)
    return connected


def restore(
    ledger: Ledger, native: _core.Connection, name: str, clock: Callable[[], int]
) -> Operation[tuple[Connected, Restored]]:
    """Connect again, as often as it takes, and ask again for all that the client had."""
    began_ns, attempt = clock(), 0
    while True:
        yield Pause(delay_ns(attempt, random.random()))
        attempt += 1
        try:
            connected: Connected = yield from connect(ledger, native, name)
            failed = yield from _reestablish(ledger)
        except GiustoError:
            # Also `Duplicate`: a half-open old connection holds the name until the broker notices.
            native.give_up("another attempt")
            native.take_loss()
            continue
        return connected, Restored(clock() - began_ns, connected.run, tuple(failed))


def _reestablish(ledger: Ledger) -> Operation[list[str]]:
    ledger.forget_numbers()
    failed = []
    for subscription in list(ledger.subscriptions.values()):
        try:
            yield from _subscribe(ledger, subscription)
        except (ConnectionError, TimeoutError):
            raise
        except GiustoError as error:
            failed.append(f"{subscription.pattern} ({error})")
            subscription.close()
            ledger.drop_subscription(subscription)
    for publisher in list(ledger.publishers.values()):
        try:
            yield from _advertise(ledger, publisher)
        except (ConnectionError, TimeoutError):
            raise
        except GiustoError as error:
            failed.append(f"{publisher.topic} ({error})")
            publisher.close()
            ledger.drop_publisher(publisher)
    return failed


def advertise(ledger: Ledger, publisher: AnyPublisher) -> Operation[None]:
    """Make the publisher known; it can publish after that."""
    if publisher.topic in ledger.publishers:
        raise Duplicate("publisher", publisher.topic)
    ledger.publishers[publisher.topic] = publisher
    try:
        yield from _advertise(ledger, publisher)
    except BaseException:
        ledger.drop_publisher(publisher)
        raise


def _advertise(ledger: Ledger, publisher: AnyPublisher) -> Operation[None]:
    answer: Advertised = yield Advertise(
        id=ledger.next_id(), topic=publisher.topic, offer=publisher.offer.terms()
    )
    ledger.keep_flow(answer.flow, publisher)
    publisher.matched = answer.subscribers
    publisher.bind(answer.flow, answer.credit)


def unadvertise(ledger: Ledger, publisher: AnyPublisher) -> Operation[None]:
    """Take the publisher back."""
    flow = publisher.flow
    ledger.drop_publisher(publisher)
    if flow is not None:
        yield Unadvertise(id=ledger.next_id(), flow=flow)
    publisher.close()


def subscribe(ledger: Ledger, subscription: AnySubscription) -> Operation[None]:
    """Ask for the messages; the inbox is open already, since they may come before the answer."""
    ledger.subscriptions[subscription.key] = subscription
    try:
        yield from _subscribe(ledger, subscription)
    except BaseException:
        ledger.drop_subscription(subscription)
        subscription.close()
        raise


def _subscribe(ledger: Ledger, subscription: AnySubscription) -> Operation[None]:
    answer: Subscribed = yield Subscribe(
        id=ledger.next_id(),
        pattern=subscription.pattern,
        filter=subscription.filter,
        need=subscription.need.terms(),
    )
    ledger.keep_subscription(answer.subscription, subscription)
    subscription.matched = answer.publishers
    subscription.verdict = verdict(answer.bound_ns, answer.reason)
    subscription.set_bound(answer.bound_ns or 0)


def unsubscribe(ledger: Ledger, subscription: AnySubscription) -> Operation[None]:
    """End the subscription; what waits in its inbox is gone."""
    number = subscription.number
    ledger.drop_subscription(subscription)
    subscription.close()
    if number is not None:
        yield Unsubscribe(id=ledger.next_id(), subscription=number)


def publishers(ledger: Ledger, topic: str) -> Operation[list[Party]]:
    """Who publishes on a topic."""
    answer: Parties = yield Publishers(id=ledger.next_id(), topic=topic)
    return answer.parties


def subscribers(ledger: Ledger, topic: str) -> Operation[list[Party]]:
    """Whose patterns cover a topic."""
    answer: Parties = yield Subscribers(id=ledger.next_id(), topic=topic)
    return answer.parties


def allot(ledger: Ledger, topic: str, share: ShareTerms) -> Operation[None]:
    """Give a topic another share while it runs."""
    yield Allot(id=ledger.next_id(), topic=topic, share=share)


def status(ledger: Ledger) -> Operation[StatusIs]:
    """Counters and delays of the broker."""
    answer: StatusIs = yield Status(id=ledger.next_id())
    return answer


def views(ledger: Ledger, pattern: str) -> Operation[ViewsAre]:
    """Who publishes and who receives which topics."""
    answer: ViewsAre = yield Views(id=ledger.next_id(), pattern=pattern)
    return answer
