"""What a bus does step by step, without waiting: generators that the faces drive.

An operation yields what it needs done and is sent the outcome: `Ask` (the answer to a request), `Open` (a
new connection to the broker) or `Pause`. The blocking face blocks, the asyncio face awaits; nothing else
differs between them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from giusto import _core
from giusto.client.backoff import delay_ns
from giusto.client.entity import AnyPublisher, AnySubscription
from giusto.client.entity import Party as Ours
from giusto.client.events import Restored
from giusto.client.ledger import Ledger
from giusto.contract.explanation import Explanation, explanation
from giusto.errors import Duplicate, GiustoError
from giusto.models import Model, ModelVerdict
from giusto.protocol import (
    Advertise,
    Allot,
    AnyRequest,
    Connect,
    Connected,
    Explain,
    Explained,
    Learn,
    Learned,
    Parties,
    Party,
    Publishers,
    ShareTerms,
    Status,
    StatusIs,
    Subscribe,
    Subscribers,
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


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a request as soon as the connection is whole, and wait for its answer.

    `make(id=…)` is called right before it is sent, when the numbers are those of the connection that it
    goes to; none if there is nothing to ask. What a good answer gives belongs to `party`.
    """

    make: Callable[..., AnyRequest | None]
    party: Ours | None = None


Step: TypeAlias = Ask | Open | Pause
_Result = TypeVar("_Result")
Operation: TypeAlias = Generator[Step, Any, _Result]


def connect(native: _core.Connection, name: str, unnamed: bool) -> Operation[Connected]:
    """Open the connection and introduce the client."""
    yield Open()
    make = partial(Connect, name=name, version=_core.VERSION, udp_port=native.udp_port, unnamed=unnamed)
    connected: Connected = yield Ask(make)
    native.identify(connected.run, connected.name)
    if native.udp_port is not None and connected.udp_port is not None:
        native.connect_udp(connected.udp_port)
    return connected


def restore(
    ledger: Ledger, native: _core.Connection, name: str, unnamed: bool, clock: Callable[[], int]
) -> Operation[tuple[Connected, Restored]]:
    """Connect again, as often as it takes, and ask again for all that the client had."""
    began_ns, attempt = clock(), 0
    while True:
        yield Pause(delay_ns(attempt, random.random()))
        attempt += 1
        try:
            connected: Connected = yield from connect(native, name, unnamed)
            failed = yield from _reestablish(ledger)
        except (GiustoError, OSError):
            # Also `Duplicate`: a half-open old connection holds the name until the broker notices.
            native.give_up("another attempt")
            native.take_loss()
            continue
        return connected, Restored(clock() - began_ns, connected.run, tuple(failed))


def _reestablish(ledger: Ledger) -> Operation[list[str]]:
    ledger.forget_numbers()
    failed = []
    for subscription in ledger.established_subscriptions():
        try:
            yield _subscribe(subscription)
        except (ConnectionError, TimeoutError):
            raise
        except GiustoError as error:
            failed.append(f"{subscription.pattern} ({error})")
            subscription._close()
            ledger.drop_subscription(subscription)
    for publisher in ledger.established_publishers():
        try:
            yield _advertise(publisher)
        except (ConnectionError, TimeoutError):
            raise
        except GiustoError as error:
            failed.append(f"{publisher.topic} ({error})")
            publisher._close()
            ledger.drop_publisher(publisher)
    return failed


def advertise(ledger: Ledger, publisher: AnyPublisher) -> Operation[None]:
    """Make the publisher known; it can publish after that."""
    if publisher.topic in ledger.publishers:
        raise Duplicate("publisher", publisher.topic)
    ledger.publishers[publisher.topic] = publisher
    try:
        yield _advertise(publisher)
    except BaseException:
        ledger.drop_publisher(publisher)
        publisher._close()
        raise


def _advertise(publisher: AnyPublisher) -> Ask:
    return Ask(partial(Advertise, topic=publisher.topic, offer=publisher.offer.terms()), publisher)


def unadvertise(ledger: Ledger, publisher: AnyPublisher) -> Operation[None]:
    """Take the publisher back. It is closed first: the broker must get no message behind the request."""
    ledger.drop_publisher(publisher)
    publisher._close()
    yield Ask(lambda id: ledger.end_of_publisher(publisher, id))


def subscribe(ledger: Ledger, subscription: AnySubscription) -> Operation[None]:
    """Ask for the messages; the inbox is open already, since they may come before the answer."""
    ledger.subscriptions[subscription.key] = subscription
    try:
        yield _subscribe(subscription)
    except BaseException:
        ledger.drop_subscription(subscription)
        subscription._close()
        raise


def _subscribe(subscription: AnySubscription) -> Ask:
    terms = subscription.need.terms()
    make = partial(Subscribe, pattern=subscription.pattern, filter=subscription.filter, need=terms)
    return Ask(make, subscription)


def unsubscribe(ledger: Ledger, subscription: AnySubscription) -> Operation[None]:
    """End the subscription; what waits in its inbox is gone."""
    ledger.drop_subscription(subscription)
    subscription._close()
    yield Ask(lambda id: ledger.end_of_subscription(subscription, id))


def publishers(topic: str) -> Operation[list[Party]]:
    """Who publishes on a topic."""
    answer: Parties = yield Ask(partial(Publishers, topic=topic))
    return answer.parties


def subscribers(topic: str) -> Operation[list[Party]]:
    """Whose patterns cover a topic."""
    answer: Parties = yield Ask(partial(Subscribers, topic=topic))
    return answer.parties


def allot(topic: str, share: ShareTerms) -> Operation[None]:
    """Give a topic another share while it runs."""
    yield Ask(partial(Allot, topic=topic, share=share))


def status() -> Operation[StatusIs]:
    """Counters and delays of the broker."""
    answer: StatusIs = yield Ask(Status)
    return answer


def views(pattern: str) -> Operation[ViewsAre]:
    """Who publishes and who receives which topics."""
    answer: ViewsAre = yield Ask(partial(Views, pattern=pattern))
    return answer


def explain(topic: str) -> Operation[Explanation]:
    """How the bounds of a topic come about."""
    answer: Explained = yield Ask(partial(Explain, topic=topic))
    return explanation(answer)


def learn(model: Model) -> Operation[ModelVerdict]:
    """Hand what was measured to the broker."""
    answer: Learned = yield Ask(partial(Learn, model=model))
    return answer.verdict
