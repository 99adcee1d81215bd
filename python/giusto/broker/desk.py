"""Whether what a client asks can be promised, beside all that has been promised: all of it or nothing.

A request is decided here before the data plane is asked (`offered`, `subscribed`, `allotted`) and counts
after it agreed (`conclude`). What changes nothing that is guarded costs next to nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from giusto.broker.contracts import Contract
from giusto.broker.draft import Comer, Draft
from giusto.broker.guarded import Guarded
from giusto.broker.holdings import holding, offer_of
from giusto.broker.keeping import Keeping
from giusto.broker.limits import require_limit, require_limits_beside, require_stream
from giusto.broker.plane import Plane
from giusto.broker.refusal import refusal
from giusto.broker.registry import Client, Flow, Registry, Subscription, Topic
from giusto.broker.shares import set_shares
from giusto.contract import Need, Offer
from giusto.contract.matching import Flow as Offered
from giusto.contract.matching import is_demanding, require_match, require_queue
from giusto.guarantee.model import Change
from giusto.guarantee.rest import larger, rest_of
from giusto.guarantee.search import Search
from giusto.guarantee.supplies import size_of
from giusto.protocol import ShareTerms

# So many topics with one call: a call waits for the data thread, which serves nothing meanwhile.
AT_ONCE = 16


class Desk:
    """Where requests are decided. `tolerance_ns` is added to the jitter of every flow."""

    def __init__(
        self, plane: Plane, registry: Registry, guarded: Guarded, keeping: Keeping, tolerance_ns: int
    ) -> None:
        self._plane = plane
        self._registry = registry
        self._guarded = guarded
        self._keeping = keeping
        self._tolerance_ns = tolerance_ns

    # --- what is asked

    def offered(self, client: Client, topic: str, offer: Offer) -> Draft:
        """A client wants to publish; raises `Refused`."""
        flow = Offered(client.name, topic, offer)
        covering = self._guarded.contracts.covering(topic)
        for contract in covering:
            require_match(contract.need, flow)
        promising = [one for one in covering if one.promise_ns is not None]
        draft = Draft()
        if promising or topic in self._guarded.topics:
            self._offer_guarded(draft, client, flow, promising)
        else:
            self._offer_rest(draft, client, flow)
        return self._decided(draft)

    def _offer_guarded(self, draft: Draft, client: Client, flow: Offered, promising: list[Contract]) -> None:
        require_limit(flow)
        require_stream(client, flow.topic)
        require_limits_beside(client, flow.topic)
        for contract in promising:
            require_queue(flow, self._tolerance_ns, contract.promise_ns or 0)
        self._count(draft, flow)
        self._count_all(draft, client)
        self._guard(draft, flow.topic, promising)

    def _offer_rest(self, draft: Draft, client: Client, flow: Offered) -> None:
        if self._guarded.is_urgent(client.name):
            require_limit(flow, beside=True)
            self._count(draft, flow)
        found = self._registry.subscriptions_to(flow.topic)
        draft.asks = rest_of(len(found), size_of(flow.offer), sum(each.comparisons for each in found))

    def subscribed(self, client: Client, pattern: str, need: Need, comparisons: int = 0) -> Draft:
        """A client wants to receive, through a filter of so many comparisons; raises `Refused`."""
        topics = [topic for topic in self._registry.topics_covered(pattern) if topic.flows]
        self._require_matches(need, pattern, topics)
        draft = Draft(comer=Comer(client.name, comparisons))
        self._draw_up(draft, client.name, pattern, need, comparisons)
        if need.max_latency_ns is not None:
            require_stream(client, pattern)
            self._guard_all(draft, topics, pattern)
        for name in self._guarded.tree.covered(pattern):
            self._receive(draft, name)
        others = [topic for topic in topics if not self._is_guarded(draft, topic.name)]
        draft.asks = rest_of(
            max((topic.subscribers + 1 for topic in others), default=0),
            0,
            max((topic.comparisons + comparisons for topic in others), default=0),
        )
        return self._decided(draft)

    def allotted(self, topic: str, share: ShareTerms) -> Draft:
        """A topic is to have another share; raises `Refused`."""
        draft = Draft()
        present = self._guarded.topics.get(topic)
        if present is not None:
            draft.topics[topic] = replace(present, share=share)
        return self._decided(draft)

    def adopt(self, flows: Iterable[Offered], until_ns: int) -> None:
        """Flows counted before a restart: they do again, until then; raises `Refused`."""
        draft = Draft()
        for flow in flows:
            self._count(draft, flow, until_ns)
            promising = self._guarded.contracts.promising(flow.topic)
            if promising:
                self._guard(draft, flow.topic, promising)
        self._guarded.commit(self._decided(draft))

    # --- what becomes of it

    @contextmanager
    def kept(self, draft: Draft) -> Iterator[None]:
        """Keep what was decided over a restart; if the block raises, it was never so."""
        is_known = self._guarded.contracts.by_key.__contains__
        self._keeping.write(draft, is_known)
        try:
            yield
        except BaseException:
            self._keeping.unwrite(draft, is_known, self._guarded.topics)
            raise

    def conclude(self, draft: Draft, subscription: Subscription | None = None) -> None:
        """The data plane agreed: it counts from now on."""
        about = self._guarded.commit(draft)
        if draft.contract is not None and subscription is not None:
            self._guarded.contracts.arrive(draft.contract, subscription)
        # With the share that it was admitted with from its first guarded message on.
        set_shares(self._plane, self._registry, self._guarded.book, about)
        topics = self._registry.topics
        guarding = [topics[name].number for name in draft.guarding if name in topics]
        for first in range(0, len(guarding), AT_ONCE):
            self._plane.guard(guarding[first : first + AT_ONCE], True)

    # --- putting a draft together

    def _require_matches(self, need: Need, pattern: str, topics: list[Topic]) -> None:
        if not is_demanding(need):
            return
        for topic in topics:
            for flow in topic.flows.values():
                require_match(need, _offered(flow))
        for name in self._guarded.tree.covered(pattern):
            for held in self._guarded.holdings.on(name):
                require_match(need, Offered(held.client, name, held.offer))

    def _draw_up(self, draft: Draft, client: str, pattern: str, need: Need, comparisons: int) -> None:
        """The contract of a subscription, if it is one: what its client comes back for, or a new one."""
        contracts = self._guarded.contracts
        if need.max_latency_ns is None and not is_demanding(need):
            return
        old = contracts.claimable(client, pattern, need)
        if old is not None and (old.need, old.comparisons) == (need, comparisons):
            draft.contract = old
            return
        if old is not None:
            draft.replaced = old
            draft.ask_no_more(old, old.topics)
        draft.contract = Contract(contracts.new_key(client, pattern), client, pattern, need, comparisons)

    def _guard_all(self, draft: Draft, topics: list[Topic], pattern: str) -> None:
        assert draft.contract is not None
        publishers: dict[Client, str] = {}
        for topic in topics:
            for flow in topic.flows.values():
                require_limit(_offered(flow))
                require_queue(_offered(flow), self._tolerance_ns, draft.contract.promise_ns or 0)
                publishers.setdefault(flow.client, topic.name)
        for client, name in publishers.items():
            require_stream(client, name)
            require_limits_beside(client, name)
            self._count_all(draft, client)
        names = [topic.name for topic in topics] + self._guarded.tree.covered(pattern)
        for name in dict.fromkeys(names):
            self._guard(draft, name, [draft.contract])

    def _guard(self, draft: Draft, topic: str, contracts: list[Contract]) -> None:
        """A topic is guarded from now on, for those who were promised something."""
        for contract in contracts:
            draft.ask(contract, topic)
        draft.guarding.add(topic)
        self._receive(draft, topic)

    def _is_guarded(self, draft: Draft, topic: str) -> bool:
        return topic in self._guarded.topics or topic in draft.topics

    def _receive(self, draft: Draft, topic: str) -> None:
        """A guarded topic with all who get its messages then."""
        allotted = self._guarded.allotted(topic, draft)
        if allotted != self._guarded.topics.get(topic):
            draft.topics[topic] = allotted

    def _count_all(self, draft: Draft, client: Client) -> None:
        for flow in client.flows.values():
            self._count(draft, _offered(flow))

    def _count(self, draft: Draft, flow: Offered, until_ns: int | None = None) -> None:
        new = holding(flow.publisher, flow.topic, flow.offer, self._tolerance_ns, until_ns)
        draft.count(new, self._guarded.holdings.get(new.client, new.topic))

    # --- deciding

    def _decided(self, draft: Draft) -> Draft:
        """The draft, if every contract holds with it; raises `Refused`."""
        guarded = self._guarded
        change = guarded.change(draft, larger(guarded.rest, draft.asks))
        objection = None if change == Change() else guarded.book.decide(change)
        if objection is not None:
            # Other traffic may have become less since it was last looked at.
            change = guarded.change(draft, larger(guarded.rest_beside(draft), draft.asks))
            objection = guarded.book.decide(change)
        if objection is not None:
            search = Search(guarded.book, change)
            own = objection.own and draft.contract is not None
            raise refusal(objection, change, search, own=own)
        draft.rest = change.rest
        return draft


def _offered(flow: Flow) -> Offered:
    return Offered(flow.client.name, flow.topic.name, offer_of(flow.offer))
