"""What an asyncio bus asks a broker for: the five primitives, and questions about what it holds."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from giusto import _core
from giusto.client import operation
from giusto.client.aio.driver import Driver
from giusto.client.aio.publisher import Publisher
from giusto.client.aio.subscription import Subscription
from giusto.client.entity import announcement, interest
from giusto.client.events import Drop, Matchedness, Miss, Violation
from giusto.client.face import QUEUE, failed
from giusto.contract import Explanation, Need, Offer
from giusto.errors import Closed
from giusto.models import Model, ModelVerdict
from giusto.protocol import Party, ShareTerms, StatusIs, ViewsAre


class Primitives(Driver):
    """A connection to a broker on which publishers and subscriptions can be made."""

    # --- the five primitives

    async def advertise(
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
        for moved in self._take_unlimited(publisher.offer):
            await moved.unadvertise()
        await self._run(operation.advertise(self._ledger, publisher))
        return publisher

    async def subscribe(
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

        With `callback` the loop calls it with each message, or awaits it, one message after the other.
        """
        on = {
            "on_miss": on_miss,
            "on_violation": on_violation,
            "on_matched": on_matched,
            "on_drop": on_drop,
        }
        subscription = Subscription(self, interest(pattern, need, filter, type, queue, overflow, on))
        if not inspect.iscoroutinefunction(callback):
            subscription.callback = callback
        await self._run(operation.subscribe(self._ledger, subscription))
        if inspect.iscoroutinefunction(callback):
            self._spawn(_consume(subscription, callback))
        return subscription

    # --- questions to the broker

    async def publishers(self, topic: str) -> list[Party]:
        """Who publishes on a topic."""
        return await self._run(operation.publishers(topic))

    async def subscribers(self, topic: str) -> list[Party]:
        """Whose patterns cover a topic."""
        return await self._run(operation.subscribers(topic))

    async def allot(self, topic: str, **share: int) -> None:
        """Give a topic another share: `weight`, or what the broker's policy knows."""
        await self._run(operation.allot(topic, ShareTerms(**share)))

    async def status(self) -> StatusIs:
        """Counters and delays of all topics and clients of the broker."""
        return await self._run(operation.status())

    async def views(self, pattern: str = "#") -> ViewsAre:
        """W, MatrixIN and MatrixOUT: the shares of topics, and which clients publish and receive them."""
        return await self._run(operation.views(pattern))

    async def explain(self, topic: str) -> Explanation:
        """How the bounds of a topic come about, term by term; `print` it."""
        return await self._run(operation.explain(topic))

    async def learn(self, model: Model) -> ModelVerdict:
        """Hand what was measured to the broker, which takes it up if every promise holds with it."""
        return await self._run(operation.learn(model))


async def _consume(
    subscription: Subscription, callback: Callable[[_core.Message], Awaitable[object]]
) -> None:
    try:
        async for message in subscription:
            try:
                await callback(message)
            except Exception as error:
                failed(error)
    except Closed:
        return
