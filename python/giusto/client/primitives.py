"""What a blocking bus asks a broker for: the five primitives, and questions about what it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from giusto import _core
from giusto.client import operation
from giusto.client.driver import Driver
from giusto.client.entity import announcement, interest
from giusto.client.events import Drop, Matchedness, Miss, Violation
from giusto.client.face import QUEUE
from giusto.client.publisher import Publisher
from giusto.client.subscription import Subscription
from giusto.contract import Explanation, Need, Offer
from giusto.models import Model, ModelVerdict
from giusto.protocol import Party, ShareTerms, StatusIs, ViewsAre


class Primitives(Driver):
    """A connection to a broker on which publishers and subscriptions can be made."""

    # --- the five primitives

    def advertise(
        self,
        topic: str,
        offer: Offer | None = None,
        *,
        type: Any = None,
        on_violation: Callable[[Violation], object] | None = None,
        on_matched: Callable[[Matchedness], object] | None = None,
        on_drop: Callable[[Drop], object] | None = None,
    ) -> Publisher:
        """Announce that this client publishes on a topic, and what it offers."""
        on = {"on_violation": on_violation, "on_matched": on_matched, "on_drop": on_drop}
        publisher = Publisher(self, announcement(topic, offer, type, on))
        with self._lock:
            moved = self._take_unlimited(publisher.offer)
        for one in moved:
            one.unadvertise()
        self._run(operation.advertise(self._ledger, publisher))
        self._dispatch_if(bool(publisher.handlers))
        return publisher

    def subscribe(
        self,
        pattern: str,
        need: Need | None = None,
        *,
        filter: str | _core.Filter | None = None,
        type: Any = None,
        callback: Callable[[_core.Message], object] | None = None,
        queue: int = QUEUE,
        overflow: str = "drop_oldest",
        on_miss: Callable[[Miss], object] | None = None,
        on_violation: Callable[[Violation], object] | None = None,
        on_matched: Callable[[Matchedness], object] | None = None,
        on_drop: Callable[[Drop], object] | None = None,
    ) -> Subscription:
        """Ask for the messages of all topics that a pattern covers.

        With `callback` a thread of the bus calls it with each message; without, the caller receives.
        """
        on = {
            "on_miss": on_miss,
            "on_violation": on_violation,
            "on_matched": on_matched,
            "on_drop": on_drop,
        }
        subscription = Subscription(self, interest(pattern, need, filter, type, queue, overflow, on))
        subscription.callback = callback
        if callback is not None:
            subscription._announce()
        self._run(operation.subscribe(self._ledger, subscription))
        self._dispatch_if(bool(subscription.handlers) or callback is not None)
        return subscription

    # --- questions to the broker

    def publishers(self, topic: str) -> list[Party]:
        """Who publishes on a topic."""
        return self._run(operation.publishers(topic))

    def subscribers(self, topic: str) -> list[Party]:
        """Whose patterns cover a topic."""
        return self._run(operation.subscribers(topic))

    def allot(self, topic: str, **share: int) -> None:
        """Give a topic another share: `weight`, or what the broker's policy knows."""
        self._run(operation.allot(topic, ShareTerms(**share)))

    def status(self) -> StatusIs:
        """Counters and delays of all topics and clients of the broker."""
        return self._run(operation.status())

    def views(self, pattern: str = "#") -> ViewsAre:
        """W, MatrixIN and MatrixOUT: the shares of topics, and which clients publish and receive them."""
        return self._run(operation.views(pattern))

    def explain(self, topic: str) -> Explanation:
        """How the bounds of a topic come about, term by term; `print` it."""
        return self._run(operation.explain(topic))

    def learn(self, model: Model) -> ModelVerdict:
        """Hand what was measured to the broker, which takes it up if every promise holds with it."""
        return self._run(operation.learn(model))
