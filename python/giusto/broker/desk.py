"""Whether what a client asks can be promised, beside all that has been promised: all of it or nothing.

A topic is guarded while a promise covers it and somebody publishes on it. Requests are decided here before
the data plane is asked (`offered`, `subscribed`, `allotted`), and counted after it agreed (`conclude`).
What ends is let go at once, except for what may still be on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from giusto.broker.contracts import Contract, Contracts
from giusto.broker.draft import Draft, larger, rest_of
from giusto.broker.holdings import Holding, Holdings, holding, size_of
from giusto.broker.keeping import Keeping
from giusto.broker.limits import require_limit, require_limits_beside
from giusto.broker.plane import Plane
from giusto.broker.refusal import refusal
from giusto.broker.registry import Client, Flow, Registry, Subscription, Topic
from giusto.broker.store import Store
from giusto.broker.tree import TopicTree
from giusto.config import BrokerConfig
from giusto.config.broker import share_of
from giusto.contract import Need, Offer
from giusto.contract.matching import Flow as Offered
from giusto.contract.matching import is_demanding, require_match
from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Change, Rest
from giusto.protocol import ShareTerms


class Desk:
    """The guarded part of one broker: what counts, what was promised, and what is let go."""

    def __init__(
        self,
        plane: Plane,
        registry: Registry,
        config: BrokerConfig,
        book: Book,
        clock: Callable[[], int],
        store: Store | None = None,
    ) -> None:
        self.book = book
        self.contracts = Contracts()
        self.holdings = Holdings()
        self.guarded: dict[str, Allotted] = {}
        self._plane = plane
        self._registry = registry
        self._config = config
        self._clock = clock
        self._keeping = Keeping(store, config.share)
        self._tree = TopicTree()
        self._shares: dict[str, ShareTerms] = {}
        self._rest = rest_of(0, 0)
        # Topics that may not have to be guarded any more, and contracts whose bound may be another one.
        self._releasing: set[str] = set()
        self._moved: dict[Contract, None] = {}

    # --- what is asked

    def offered(self, client: Client, topic: str, offer: Offer) -> Draft:
        """A client wants to publish; raises `Refused`."""
        flow = Offered(client.name, topic, offer)
        covering = self.contracts.covering(topic)
        for contract in covering:
            require_match(contract.need, flow)
        promising = [one for one in covering if one.promise_ns is not None]
        draft = Draft()
        if promising or topic in self.guarded:
            require_limit(flow)
            require_limits_beside(client, topic)
            self._count(draft, client.name, topic, offer)
            self._count_all(draft, client)
            self._guard(draft, topic, promising)
        else:
            if self._is_urgent(client.name):
                require_limit(flow, beside=True)
                self._count(draft, client.name, topic, offer)
            draft.asks = rest_of(len(self._registry.subscriptions_to(topic)), size_of(offer))
        return self._decided(draft)

    def subscribed(self, client: Client, pattern: str, need: Need) -> Draft:
        """A client wants to receive; raises `Refused`."""
        topics = [topic for topic in self._registry.topics_covered(pattern) if topic.flows]
        self._require_matches(need, pattern, topics)
        draft = Draft()
        self._draw_up(draft, client.name, pattern, need)
        if need.max_latency_ns is not None:
            self._guard_all(draft, topics, pattern)
        for name in self._tree.covered(pattern):
            self._receive(draft, name, client.name)
        others = [topic for topic in topics if topic.name not in self.guarded and topic.name not in draft.topics]
        draft.asks = rest_of(max((topic.subscribers + 1 for topic in others), default=0), 0)
        return self._decided(draft)

    def allotted(self, topic: str, share: ShareTerms) -> Draft:
        """A topic is to have another share; raises `Refused`."""
        draft = Draft()
        present = self.guarded.get(topic)
        if present is not None:
            draft.topics[topic] = Allotted(topic=topic, share=share, fanout=present.fanout)
        return self._decided(draft)

    @contextmanager
    def kept(self, draft: Draft) -> Iterator[None]:
        """Keep what was decided over a restart; if the block raises, it was never so."""
        self._keeping.write(draft, self.contracts.by_key.__contains__)
        try:
            yield
        except BaseException:
            self._keeping.unwrite(draft, self.contracts.by_key.__contains__)
            raise

    def conclude(self, draft: Draft, subscription: Subscription | None = None) -> None:
        """The data plane agreed: it counts from now on."""
        self._commit(draft)
        contract = draft.contract
        if contract is not None and subscription is not None:
            self.contracts.arrive(contract, subscription)
        self._tell_plane(draft)

    # --- what ends

    def unadvertised(self, flow: Flow) -> None:
        """A client publishes no longer; messages of it may be on their way for as long as was promised."""
        held = self.holdings.get(flow.client.name, flow.topic.name)
        if held is not None and held.until_ns is None:
            self._part(held, self._clock() + self._linger_ns(held.topic))

    def unsubscribed(self, subscription: Subscription) -> None:
        """A subscription has ended; called when the registry does not have it any more."""
        contract = self.contracts.of_subscription(subscription)
        if contract is not None:
            self._drop(contract)
        self._recount(subscription.pattern)
        self.release()

    def goodbye(self, client: Client) -> None:
        """A client leaves for good: nothing is kept for it."""
        for contract in self.contracts.of_client(client.name):
            self._drop(contract)
        for held in self.holdings.of(client.name):
            if held.until_ns is None:
                self._part(held, self._clock() + self._linger_ns(held.topic))

    def vanished(self, client: Client) -> None:
        """A connection has ended: what is still promised is kept for a while."""
        until_ns = self._clock() + self._config.guarantee.reserve_ns
        for contract in self.contracts.of_client(client.name):
            if contract.until_ns is None:
                self.contracts.depart(contract, until_ns)
        for held in self.holdings.of(client.name):
            if held.until_ns is None:
                self._part(held, until_ns)

    def left(self, client: Client, patterns: Iterable[str]) -> None:
        """A client is not in the registry any more: fewer receive the topics that its patterns covered."""
        for pattern in patterns:
            self._recount(pattern)
        self.release()

    @property
    def has_due(self) -> bool:
        """Whether time alone will change something."""
        return bool(self.contracts.away or self.holdings.away or self._releasing)

    def tend(self) -> None:
        """Let go what has been kept long enough."""
        now_ns = self._clock()
        for contract in self.contracts.expired(now_ns):
            self._drop(contract)
            self._recount(contract.pattern)
        for held in self.holdings.expired(now_ns):
            self._end(held)
        self.release()

    def release(self) -> None:
        """Let go the topics that need not be guarded, as far as nothing of them waits and the rest has room."""
        for topic in list(self._releasing):
            if topic not in self.guarded or (self.holdings.on(topic) and self.contracts.promising(topic)):
                self._releasing.discard(topic)
            else:
                self._release(topic)

    # --- what is known

    def share(self, topic: str) -> ShareTerms:
        """What a topic is allotted, also when it does not exist now."""
        known = self._registry.topics.get(topic)
        if known is not None:
            return known.share
        return self._shares.get(topic) or self._config.share(topic)

    def take_moved(self) -> list[Contract]:
        """Live contracts on whose topics publishers came or went since the last call."""
        moved, self._moved = self._moved, {}
        return [one for one in moved if one.subscription is not None and one.promise_ns is not None]

    # --- putting a change together

    def _require_matches(self, need: Need, pattern: str, topics: list[Topic]) -> None:
        if not is_demanding(need):
            return
        for topic in topics:
            for flow in topic.flows.values():
                require_match(need, _offered(flow))
        for name in self._tree.covered(pattern):
            for held in self.holdings.on(name):
                require_match(need, Offered(held.client, name, held.offer))

    def _draw_up(self, draft: Draft, client: str, pattern: str, need: Need) -> None:
        """The contract of a subscription, if it is one: what its client comes back for, or a new one."""
        old = self.contracts.claimable(client, pattern, need)
        if old is not None and old.need == need:
            draft.contract = old
            return
        if old is not None:
            draft.replaced = old
            draft.demands_gone += [(old, topic) for topic in old.topics]
        if need.max_latency_ns is not None or is_demanding(need):
            draft.contract = Contract(self.contracts.new_key(client, pattern), client, pattern, need)

    def _guard_all(self, draft: Draft, topics: list[Topic], pattern: str) -> None:
        assert draft.contract is not None
        for topic in topics:
            for flow in topic.flows.values():
                require_limit(_offered(flow))
                require_limits_beside(flow.client, topic.name, flow)
                self._count_all(draft, flow.client)
        for name in dict.fromkeys([topic.name for topic in topics] + self._tree.covered(pattern)):
            self._guard(draft, name, [draft.contract])

    def _guard(self, draft: Draft, topic: str, contracts: list[Contract]) -> None:
        draft.demands += [(one, topic) for one in contracts if topic not in one.topics]
        draft.guarding.add(topic)
        self._receive(draft, topic, *(one.client for one in contracts))

    def _receive(self, draft: Draft, topic: str, *clients: str) -> None:
        """Those clients get the messages of a guarded topic too."""
        allotted = Allotted(topic=topic, share=self.share(topic), fanout=self._fanout(topic, *clients))
        if allotted != self.guarded.get(topic):
            draft.topics[topic] = allotted

    def _fanout(self, topic: str, *clients: str) -> int:
        here = {each.client.name for each in self._registry.subscriptions_to(topic)}
        return len(here | {each.client for each in self.contracts.covering(topic)} | {*clients})

    def _count_all(self, draft: Draft, client: Client) -> None:
        for flow in client.flows.values():
            self._count(draft, client.name, flow.topic.name, Offer.from_terms(flow.offer))

    def _count(self, draft: Draft, client: str, topic: str, offer: Offer) -> None:
        if any((one.client, one.topic) == (client, topic) for one in draft.holdings):
            return
        new = holding(client, topic, offer, self._config.tolerance_ns)
        draft.count(new, self.holdings.get(client, topic))

    def _is_urgent(self, client: str) -> bool:
        """Whether a client that is there publishes on a guarded topic."""
        return any(one.until_ns is None and one.topic in self.guarded for one in self.holdings.of(client))

    # --- deciding

    def _decided(self, draft: Draft) -> Draft:
        """The draft, if every contract holds with it; raises `Refused`."""
        change = self._change(draft, larger(self._rest, draft.asks))
        if change == Change():
            return draft
        objection = self.book.decide(change)
        if objection is not None:
            # Other traffic may have become less since it was last looked at.
            less = self._change(draft, larger(self._rest_now(draft), draft.asks))
            if less != change:
                objection, change = self.book.decide(less), less
        if objection is not None:
            raise refusal(objection, self.book.nearest(change))
        draft.rest = change.rest
        return draft

    def _change(self, draft: Draft, rest: Rest) -> Change:
        known = {
            (one.client, one.topic)
            for one in draft.holdings
            if self.holdings.get(one.client, one.topic) is not None
        }
        return draft.change(known, None if rest == self._rest else rest)

    def _rest_now(self, draft: Draft) -> Rest:
        """The traffic that is not guarded, and will not be."""
        fanout = size_bytes = 0
        for topic in self._registry.topics.values():
            if topic.flows and topic.name not in self.guarded and topic.name not in draft.guarding:
                fanout = max(fanout, topic.subscribers)
                size_bytes = max(size_bytes, *(_size(flow) for flow in topic.flows.values()))
        return rest_of(fanout, size_bytes)

    def _commit(self, draft: Draft) -> None:
        change = self._change(draft, draft.rest or self._rest)
        if change != Change():
            self.book.commit(change)
        self._rest = change.rest or self._rest
        for held in draft.ended:
            self.holdings.remove(held)
        for held in draft.holdings:
            self.holdings.add(held)
        for name, allotted in draft.topics.items():
            if name not in self.guarded:
                self._tree.add(name)
            self.guarded[name] = allotted
            self._shares[name] = allotted.share
        self._commit_contracts(draft)
        for topic in {held.topic for held in (*draft.holdings, *draft.ended)}:
            self._moved.update(dict.fromkeys(self.contracts.covering(topic)))

    def _commit_contracts(self, draft: Draft) -> None:
        if draft.replaced is not None:
            self.contracts.remove(draft.replaced)
        if draft.contract is not None and draft.contract.key not in self.contracts.by_key:
            self.contracts.add(draft.contract)
        for contract, topic in draft.demands_gone:
            contract.topics.discard(topic)
        for contract, topic in draft.demands:
            contract.topics.add(topic)

    def _tell_plane(self, draft: Draft) -> None:
        topics = self._registry.topics
        guarding = [topics[name].number for name in draft.guarding if name in topics]
        if guarding:
            self._plane.guard(guarding, True)
        for allotted in self.book.shares(Change()):
            if allotted.topic in topics:
                self._plane.allot(topics[allotted.topic].number, share_of(allotted.share))

    # --- letting go

    def _linger_ns(self, topic: str) -> int:
        """How long messages of a topic may be on their way: as long as was promised."""
        promised = (one.promise_ns for one in self.contracts.promising(topic))
        return min((each for each in promised if each is not None), default=0)

    def _part(self, held: Holding, until_ns: int) -> None:
        if held.topic in self.guarded:
            self.holdings.depart(held, until_ns)
        else:
            self._end(held)

    def _end(self, held: Holding) -> None:
        self._ended(Draft(ended=[held]))
        self._releasing.add(held.topic)
        if not self._is_urgent(held.client):
            for beside in self.holdings.of(held.client):
                if beside.topic not in self.guarded:
                    self._ended(Draft(ended=[beside]))

    def _drop(self, contract: Contract) -> None:
        self._releasing.update(contract.topics)
        self._ended(Draft(replaced=contract, demands_gone=[(contract, topic) for topic in contract.topics]))

    def _ended(self, draft: Draft) -> None:
        """What ends makes nothing later: there is nothing to decide."""
        self._keeping.erase(draft)
        self._commit(draft)

    def _recount(self, pattern: str) -> None:
        """Fewer clients may receive the guarded topics that a pattern covers."""
        draft = Draft()
        for topic in self._tree.covered(pattern):
            self._receive(draft, topic)
        if draft.topics:
            self._commit(draft)

    def _release(self, topic: str) -> None:
        draft = Draft(released=[topic])
        draft.demands_gone = [(one, topic) for one in self.contracts.promising(topic) if topic in one.topics]
        for client in {held.client for held in self.holdings.on(topic)}:
            draft.ended += self._not_urgent_without(client, topic)
        known = self._registry.topics.get(topic)
        flows = [] if known is None else list(known.flows.values())
        if known is not None and flows:
            sizes = (_size(flow) for flow in flows)
            draft.rest = larger(self._rest, rest_of(known.subscribers, max(sizes)))
        if self.book.decide(self._change(draft, draft.rest or self._rest)) is not None:
            return
        if known is not None and not self._plane.guard([known.number], False):
            return
        self._keeping.erase(draft)
        self._commit(draft)
        del self.guarded[topic]
        self._tree.remove(topic)
        self._shares.pop(topic, None)
        self._releasing.discard(topic)

    def _not_urgent_without(self, client: str, topic: str) -> list[Holding]:
        """The flows of a client that count no longer when a topic is not guarded any more."""
        held = self.holdings.of(client)
        if any(one.topic in self.guarded and one.topic != topic for one in held):
            return [one for one in held if one.topic == topic and one.until_ns is not None]
        return held


def _offered(flow: Flow) -> Offered:
    return Offered(flow.client.name, flow.topic.name, Offer.from_terms(flow.offer))


def _size(flow: Flow) -> int:
    return size_of(Offer.from_terms(flow.offer))
