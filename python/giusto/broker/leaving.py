"""What is let go when something ends, and when: at once, when nothing of it is on its way, or after a while.

What ends makes nothing later, so that there is nothing to decide. Only a topic that is guarded no longer
joins the rest, and waits until that breaks no promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from giusto.broker.contracts import Contract
from giusto.broker.draft import Draft
from giusto.broker.guarded import Guarded
from giusto.broker.holdings import Holding
from giusto.broker.keeping import Keeping
from giusto.broker.plane import Plane
from giusto.broker.registry import Client, Flow, Registry, Subscription, Topic
from giusto.broker.shares import set_shares
from giusto.guarantee.rest import larger, rest_of


class Leaving:
    """The way out. For a client that goes without a goodbye everything is kept for `reserve_ns`."""

    def __init__(
        self,
        plane: Plane,
        registry: Registry,
        guarded: Guarded,
        keeping: Keeping,
        reserve_ns: int,
        clock: Callable[[], int],
    ) -> None:
        self._plane = plane
        self._registry = registry
        self._guarded = guarded
        self._keeping = keeping
        self._reserve_ns = reserve_ns
        self._clock = clock

    def unadvertised(self, flow: Flow) -> None:
        """A client publishes no longer; messages of it may be on their way for as long as was promised."""
        held = self._guarded.holdings.get(flow.client.name, flow.topic.name)
        if held is not None and held.until_ns is None:
            self._part(held, self._linger_ns(held.topic))

    def unsubscribed(self, subscription: Subscription) -> None:
        """A subscription has ended; called when the registry does not have it any more."""
        contract = self._guarded.contracts.of_subscription(subscription)
        if contract is not None:
            self._drop(contract)
        self.left([subscription.pattern])

    def goodbye(self, client: Client) -> None:
        """A client leaves for good: nothing that it had is kept. What still waits for one of its name is."""
        for contract in self._guarded.contracts.of_client(client.name):
            if contract.until_ns is None:
                self._drop(contract)
        for held in self._guarded.holdings.of(client.name):
            if held.until_ns is None:
                self._part(held, self._linger_ns(held.topic))

    def vanished(self, client: Client) -> None:
        """A connection has ended: what is still promised is kept for a while."""
        until_ns = self._clock() + self._reserve_ns
        for contract in self._guarded.contracts.of_client(client.name):
            if contract.until_ns is None:
                self._guarded.contracts.depart(contract, until_ns)
        for held in self._guarded.holdings.of(client.name):
            if held.until_ns is None:
                self._part(held, self._reserve_ns)

    def left(self, patterns: Iterable[str]) -> None:
        """Fewer clients receive the topics that some patterns cover; the registry knows it."""
        for pattern in patterns:
            self._recount(pattern)
        self.release()

    @property
    def has_due(self) -> bool:
        """Whether time alone will change something."""
        guarded = self._guarded
        holdings = guarded.holdings
        return bool(guarded.contracts.away or holdings.away or holdings.wide or guarded.releasing)

    def tend(self) -> None:
        """Let go what has been kept long enough."""
        now_ns = self._clock()
        for contract in self._guarded.contracts.expired(now_ns):
            self._drop(contract)
            self._recount(contract.pattern)
        for held in self._guarded.holdings.expired(now_ns):
            self._end(held)
        for held in self._guarded.holdings.settled(now_ns):
            self._narrow(held)
        self.release()

    def release(self) -> None:
        """Let go the topics that need not be guarded, if nothing of them waits and the rest has room."""
        for topic in list(self._guarded.releasing):
            if topic not in self._guarded.topics or self._guarded.is_needed(topic):
                self._guarded.releasing.discard(topic)
            else:
                self._release(topic)

    # --- one thing at a time

    def _linger_ns(self, topic: str) -> int:
        """How long messages of a topic may be on their way: as long as was promised."""
        return self._guarded.promise_ns(topic) or 0

    def _part(self, held: Holding, after_ns: int) -> None:
        """A publisher has gone. What it had on a guarded topic counts for some time."""
        if held.topic in self._guarded.topics:
            now_ns = self._clock()
            self._guarded.holdings.depart(held, now_ns + after_ns, now_ns + self._linger_ns(held.topic))
        else:
            self._ended(Draft(ended=[held]))

    def _end(self, held: Holding) -> None:
        self._ended(Draft(ended=[held]))
        self._guarded.releasing.add(held.topic)
        if not self._guarded.is_urgent(held.client):
            beside = [one for one in self._guarded.holdings.of(held.client) if one.until_ns is None]
            self._ended(Draft(ended=[one for one in beside if one.topic not in self._guarded.topics]))

    def _narrow(self, held: Holding) -> None:
        """What a flow took the place of has gone: it counts as it is. What is kept of it is the same."""
        draft = Draft()
        draft.replace(held, replace(held, wide=None))
        if self._guarded.book.decide(self._guarded.change(draft, self._guarded.rest)) is None:
            about = self._guarded.commit(draft)
            set_shares(self._plane, self._registry, self._guarded.book, about)

    def _drop(self, contract: Contract) -> None:
        self._guarded.releasing.update(contract.topics)
        draft = Draft(replaced=contract)
        draft.ask_no_more(contract, contract.topics)
        self._ended(draft)

    def _ended(self, draft: Draft) -> None:
        self._keeping.erase(draft)
        about = self._guarded.commit(draft)
        set_shares(self._plane, self._registry, self._guarded.book, about)

    def _recount(self, pattern: str) -> None:
        """Fewer clients may receive the guarded topics that a pattern covers."""
        draft = Draft()
        for topic in self._guarded.tree.covered(pattern):
            present, found = self._guarded.topics[topic], self._guarded.allotted(topic, draft)
            if found.subscriptions < present.subscriptions:
                draft.topics[topic] = replace(found, share=present.share, place=present.place)
        if draft.topics:
            self._guarded.commit(draft)

    def _release(self, topic: str) -> None:
        known = self._registry.topics.get(topic)
        draft = self._released(topic, known)
        change = self._guarded.change(draft, draft.rest or self._guarded.rest)
        if self._guarded.book.decide(change) is not None:
            return
        if known is None or self._plane.guard([known.number], False):
            self._ended(draft)

    def _released(self, topic: str, known: Topic | None) -> Draft:
        """What it takes to guard a topic no longer: its flows count only where their clients are urgent."""
        guarded = self._guarded
        draft = Draft(released=[topic])
        for contract in guarded.contracts.promising(topic):
            draft.ask_no_more(contract, [topic])
        for client in {held.client for held in guarded.holdings.on(topic)}:
            draft.ended += self._ended_with(client, topic)
        if known is not None and known.flows:
            draft.rest = larger(guarded.rest, rest_of(known.subscribers, known.size_bytes, known.comparisons))
        return draft

    def _ended_with(self, client: str, topic: str) -> list[Holding]:
        """The flows of a client that count no longer when a topic is not guarded any more."""
        held = self._guarded.holdings.of(client)
        if any(one.topic in self._guarded.topics and one.topic != topic for one in held):
            return [one for one in held if one.topic == topic and one.until_ns is not None]
        return held
