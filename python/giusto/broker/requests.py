"""What a connected client may ask: calls on the data plane, an answer, and names for whoever needs them.

Names come before the data that needs them: a subscriber is told every topic and source that it will see
before the data plane may send it anything of them. A request that raises has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from giusto import _core
from giusto.broker.desk import Desk
from giusto.broker.draft import Draft
from giusto.broker.guarded import Guarded
from giusto.broker.learning import Learning
from giusto.broker.leaving import Leaving
from giusto.broker.plane import Plane
from giusto.broker.registry import Client, Flow, Registry, Subscription, Topic
from giusto.broker.status import About, status_answer
from giusto.broker.topics import Topics
from giusto.broker.verdicts import explained, verdict_of
from giusto.broker.views import views_answer
from giusto.config import BrokerConfig
from giusto.config.broker import require_read, share_of
from giusto.contract import Need, Offer
from giusto.errors import Duplicate, InvalidInput, Unknown
from giusto.protocol import (
    Advertise,
    Advertised,
    Allot,
    Answer,
    Done,
    Explain,
    Explained,
    Learn,
    Learned,
    OfferTerms,
    Parties,
    Party,
    Publishers,
    Request,
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


class Requests:
    """One method per request; `send` tells something to connections."""

    def __init__(
        self,
        plane: Plane,
        registry: Registry,
        topics: Topics,
        guarded: Guarded,
        desk: Desk,
        leaving: Leaving,
        learning: Learning,
        config: BrokerConfig,
        about: About,
        clock: Callable[[], int],
        send: Callable[..., None],
    ) -> None:
        self._plane = plane
        self._registry = registry
        self._topics = topics
        self._guarded = guarded
        self._desk = desk
        self._leaving = leaving
        self._learning = learning
        self._limits = config.limits
        self._tolerance_ns = config.tolerance_ns
        self._about = about
        self._clock = clock
        self._send = send
        self._methods: dict[type[Request], Callable[[Client, Any], Answer]] = {
            Advertise: self.advertise,
            Unadvertise: self.unadvertise,
            Subscribe: self.subscribe,
            Unsubscribe: self.unsubscribe,
            Allot: self.allot,
            Publishers: self.publishers,
            Subscribers: self.subscribers,
            Status: self.status,
            Views: self.views,
            Explain: self.explain,
            Learn: self.learn,
        }

    def answer(self, client: Client, request: Request) -> Answer:
        """Do what a client asks."""
        return self._methods[type(request)](client, request)

    def advertise(self, client: Client, request: Advertise) -> Advertised:
        offer = Offer.from_terms(request.offer)
        _require_room("topics", len(client.flows), self._limits.topics)
        if self._registry.has_flow(client, request.topic):
            raise Duplicate("flow", f"of {client.name} on {request.topic}")
        draft = self._offered(client, request.topic, offer)
        with self._desk.made(draft) as making:
            flow = self._add_flow(client, self._topic(request.topic), request.offer, offer)
            making.undo(partial(self._remove_flow, flow))
        for notice, clients in self._registry.names_of(flow):
            self._send(notice, *(each.conn for each in clients))
        return Advertised(
            id=request.id,
            flow=flow.number,
            topic=flow.topic.number,
            credit=offer.queue,
            subscribers=flow.topic.subscribers,
        )

    def _offered(self, client: Client, topic: str, offer: Offer) -> Draft:
        """What the desk says; under `smooth` of a topic that exists, since its number is its place."""
        is_new = self._about.input == "smooth" and topic not in self._registry.topics
        declared = self._topic(topic) if is_new else None
        try:
            return self._desk.offered(client, topic, offer)
        except BaseException:
            if declared is not None:
                self._topics.undo(declared)
            raise

    def _topic(self, name: str) -> Topic:
        known = self._registry.topics.get(name)
        return known or self._topics.declare(name, self._guarded.share(name))

    def _add_flow(self, client: Client, topic: Topic, terms: OfferTerms, offer: Offer) -> Flow:
        policed = offer.limit is not None
        number = self._plane.advertise(
            client.conn,
            topic.number,
            capacity=offer.queue,
            max_size_bytes=offer.max_size_bytes,
            min_sep_ns=offer.min_sep_ns,
            count=offer.count,
            period_ns=offer.period_ns,
            burst=offer.burst if policed else None,
            jitter_ns=offer.jitter_ns + self._tolerance_ns if policed else None,
        )
        return self._registry.add_flow(client, topic, number, terms)

    def _remove_flow(self, flow: Flow) -> None:
        self._plane.unadvertise(flow.client.conn, flow.number)
        self._registry.remove_flow(flow)

    def unadvertise(self, client: Client, request: Unadvertise) -> Done:
        flow = self._registry.flow_of(client, request.flow)
        self._remove_flow(flow)
        self._leaving.unadvertised(flow)
        return Done(id=request.id)

    def subscribe(self, client: Client, request: Subscribe) -> Subscribed:
        need = Need.from_terms(request.need)
        _require_room("subscriptions", len(client.subscriptions), self._limits.subscriptions)
        _core.topic_matches(request.pattern, "any")
        filter = None if request.filter is None else _core.Filter(request.filter)
        comparisons = 0 if filter is None else filter.comparisons
        draft = self._desk.subscribed(client, request.pattern, need, comparisons)
        with self._desk.made(draft) as making:
            self._tell_names(client, self._registry.topics_covered(request.pattern))
            number = self._plane.subscribe(
                client.conn, request.pattern, filter=filter, need=engine_need(need)
            )
            subscription = self._registry.add_subscription(
                client, request.pattern, number, request.need, comparisons
            )
            making.subscription = subscription
            making.undo(partial(self._remove_subscription, subscription))
        verdict = verdict_of(draft.contract, self._guarded)
        if draft.contract is not None:
            draft.contract.told = verdict
        return Subscribed(
            id=request.id, subscription=number, publishers=subscription.publishers, verdict=verdict
        )

    def _remove_subscription(self, subscription: Subscription) -> None:
        self._plane.unsubscribe(subscription.client.conn, subscription.number)
        self._registry.remove_subscription(subscription)

    def unsubscribe(self, client: Client, request: Unsubscribe) -> Done:
        subscription = self._registry.subscription_of(client, request.subscription)
        self._remove_subscription(subscription)
        self._leaving.unsubscribed(subscription)
        return Done(id=request.id)

    def allot(self, client: Client, request: Allot) -> Done:
        topic = self._registry.topics.get(request.topic)
        if topic is None:
            raise Unknown("topic", request.topic)
        share_of(request.share)
        require_read(request.share, self._about.input)
        draft = self._desk.allotted(topic.name, request.share)
        with self._desk.made(draft) as making:
            making.undo(partial(self._set_share, topic, topic.share))
            self._set_share(topic, request.share)
        return Done(id=request.id)

    def _set_share(self, topic: Topic, share: ShareTerms) -> None:
        self._plane.allot(topic.number, share_of(share))
        topic.share = share

    def publishers(self, client: Client, request: Publishers) -> Parties:
        _core.topic_matches(request.topic, "any")
        flows = (
            flow for topic in self._registry.topics_covered(request.topic) for flow in topic.flows.values()
        )
        parties = [
            Party(flow.client.number, flow.client.name, flow.topic.name, offer=flow.offer) for flow in flows
        ]
        return Parties(id=request.id, parties=parties)

    def subscribers(self, client: Client, request: Subscribers) -> Parties:
        parties = [
            Party(each.client.number, each.client.name, each.pattern, need=each.need)
            for each in self._registry.subscriptions_to(request.topic)
        ]
        return Parties(id=request.id, parties=parties)

    def status(self, client: Client, request: Status) -> StatusIs:
        counted = self._plane.status()
        return status_answer(
            request.id,
            self._registry,
            self._guarded,
            counted,
            self._about,
            self._clock(),
            self._learning.verdicts,
        )

    def views(self, client: Client, request: Views) -> ViewsAre:
        _core.topic_matches(request.pattern, "any")
        return views_answer(request.id, self._registry, request.pattern)

    def explain(self, client: Client, request: Explain) -> Explained:
        _core.topic_matches(request.topic, request.topic)
        return explained(request.id, request.topic, self._guarded)

    def learn(self, client: Client, request: Learn) -> Learned:
        return Learned(id=request.id, verdict=self._learning.learn(request.model, client.name))

    def _tell_names(self, client: Client, topics: list[Topic]) -> None:
        for notice in self._registry.names_for(client, topics):
            self._send(notice, client.conn)


def engine_need(need: Need) -> _core.Need | None:
    """What the output stage knows: a deadline with its worth, and for the records what was promised."""
    if need.deadline_ns is None and need.max_latency_ns is None:
        return None
    return _core.Need(
        deadline_ns=need.deadline_ns,
        price=need.price,
        penalty=need.penalty,
        bound_ns=need.max_latency_ns,
    )


def _require_room(what: str, count: int, most: int) -> None:
    if count >= most:
        raise InvalidInput(
            what, count + 1, f"at most {most} of one client, as limits.{what} of the broker says"
        )
