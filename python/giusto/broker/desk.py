"""Whether what a client asks can be promised, beside all that has been promised: all of it or nothing.

A request is decided here before the data plane is asked (`offered`, `subscribed`, `allotted`) and counts
after it agreed (`made`). What changes nothing that is guarded costs next to nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from giusto.broker.contracts import Contract
from giusto.broker.draft import Comer, Draft
from giusto.broker.guarded import Guarded
from giusto.broker.holdings import holding, offer_of
from giusto.broker.keeping import Keeping
from giusto.broker.limits import require_limit, require_limits_beside, require_stream
from giusto.broker.making import Making
from giusto.broker.plane import Plane
from giusto.broker.refusal import refusal, require_possible
from giusto.broker.registry import Client, Flow, Registry, Topic
from giusto.broker.shares import shares_set
from giusto.config import BrokerConfig
from giusto.config.broker import is_wild
from giusto.contract import Need, Offer
from giusto.contract.matching import Flow as Offered
from giusto.contract.matching import binds_later, is_demanding, require_match, require_output, require_queue
from giusto.guarantee.model import Change
from giusto.guarantee.rest import larger
from giusto.guarantee.search import Search
from giusto.guarantee.supplies import size_of
from giusto.protocol import ShareTerms

# So many topics with one call: a call waits for the data thread, which serves nothing meanwhile.
AT_ONCE = 16


class Desk:
    """Where requests are decided. The tolerance of the broker is added to the jitter of every flow."""

    def __init__(
        self,
        plane: Plane,
        registry: Registry,
        guarded: Guarded,
        keeping: Keeping,
        config: BrokerConfig,
        clock: Callable[[], int],
    ) -> None:
        self._plane = plane
        self._registry = registry
        self._guarded = guarded
        self._keeping = keeping
        self._tolerance_ns = config.tolerance_ns
        self._output_bytes = config.output_bytes
        self._clock = clock
        self.suggestions: dict[tuple[str, str], Offer] = {}
        """Offers that flows without a limit would have kept."""

    # --- what is asked

    def offered(self, client: Client, topic: str, offer: Offer) -> Draft:
        """A client wants to publish; raises `Refused`."""
        flow = Offered(client.name, topic, offer)
        covering = self._guarded.contracts.covering(topic)
        for contract in covering:
            if binds_later(contract.pattern):
                require_match(contract.need, flow, contract.client)
        promising = [one for one in covering if one.promise_ns is not None]
        draft = Draft()
        if promising or topic in self._guarded.topics:
            self._offer_guarded(draft, client, flow, promising)
        else:
            self._offer_rest(draft, client, flow)
        return self._decided(draft)

    def _offer_guarded(self, draft: Draft, client: Client, flow: Offered, promising: list[Contract]) -> None:
        suggested = self.suggestions.get((client.name, flow.topic))
        require_limit(flow, is_over=not promising, suggested=suggested)
        require_stream(client, flow.topic)
        require_limits_beside(client, flow.topic)
        for contract in promising:
            self._require_room(flow, contract)
        self._count(draft, flow)
        self._count_all(draft, client)
        self._guard(draft, flow.topic, promising)
        known = self._registry.topics.get(flow.topic)
        if known is not None and known.size_bytes and flow.topic not in self._guarded.topics:
            # Messages of flows that ended may wait, and those of this one behind them, all with the rest.
            draft.ask_beside(known.subscribers, size_of(flow.offer), known.comparisons)

    def _offer_rest(self, draft: Draft, client: Client, flow: Offered) -> None:
        if self._guarded.is_urgent(client.name):
            require_limit(flow, beside=True)
            self._count(draft, flow)
        found = self._registry.subscriptions_to(flow.topic)
        draft.ask_beside(len(found), size_of(flow.offer), sum(each.comparisons for each in found))

    def subscribed(self, client: Client, pattern: str, need: Need, comparisons: int = 0) -> Draft:
        """A client wants to receive, through a filter of so many comparisons; raises `Refused`."""
        covered = self._registry.topics_covered(pattern)
        topics = [topic for topic in covered if topic.flows]
        draft = Draft(comer=Comer(client.name, comparisons))
        self._draw_up(draft, client.name, pattern, need, comparisons)
        if binds_later(pattern) or not self._is_known(draft.contract):
            self._require_matches(need, pattern, topics)
        if need.max_latency_ns is not None:
            require_stream(client, pattern)
            self._guard_all(draft, topics, pattern)
        for name in self._guarded.tree.covered(pattern):
            self._receive(draft, name)
        # Also those that come under contract, or have no flow now: what waits of them goes out with the rest.
        others = [one for one in covered if one.size_bytes and one.name not in self._guarded.topics]
        draft.ask_beside(
            max((topic.subscribers + 1 for topic in others), default=0),
            0,
            max((topic.comparisons + comparisons for topic in others), default=0),
        )
        self._decided(draft)
        if not draft.demands and not self._is_known(draft.contract):
            share = ShareTerms() if is_wild(pattern) else self._guarded.share(pattern)
            require_possible(need, self._guarded.book.setting, share)
        return draft

    def allotted(self, topic: str, share: ShareTerms) -> Draft:
        """A topic is to have another share; raises `Refused`."""
        draft = Draft()
        present = self._guarded.topics.get(topic)
        if present is not None:
            draft.topics[topic] = replace(present, share=share)
        return self._decided(draft)

    def widened(self, flow: Flow, offer: Offer) -> Draft:
        """A flow that is there is to be allowed this; raises `Refused`."""
        draft = Draft()
        wide = Offered(flow.client.name, flow.topic.name, offer)
        for contract in self._guarded.contracts.promising(flow.topic.name):
            self._require_room(wide, contract)
        if self._guarded.holdings.get(wide.publisher, wide.topic) is not None:
            self._count(draft, wide)
        return self._decided(draft)

    def adopt(self, flows: Iterable[Offered], until_ns: int) -> None:
        """Flows counted before a restart: they do again, until then; raises `Refused`."""
        draft = Draft()
        for flow in flows:
            self._count(draft, flow, until_ns)
            promising = self._guarded.contracts.promising(flow.topic)
            if promising:
                self._guard(draft, flow.topic, promising)
        self._conclude(self._decided(draft), Making())

    # --- what becomes of it

    @contextmanager
    def made(self, draft: Draft) -> Iterator[Making]:
        """Keep what was decided, do the block, and have it count; if anything raises, it was never so."""
        is_known = self._guarded.contracts.by_key.__contains__
        self._keeping.write(draft, is_known)
        making = Making()
        try:
            yield making
            self._conclude(draft, making)
        except BaseException:
            making.take_back()
            self._keeping.unwrite(draft, is_known, self._guarded.topics)
            raise
        if draft.contract is not None and making.subscription is not None:
            self._guarded.contracts.arrive(draft.contract, making.subscription)

    def _conclude(self, draft: Draft, making: Making) -> None:
        """The data plane has the flow or subscription: it guards what is promised, and then that counts."""
        guarded = self._guarded
        change = guarded.change(draft, draft.rest or guarded.rest)
        # With the share that it was admitted with from its first guarded message on.
        with shares_set(self._plane, self._registry, guarded.book, draft, change):
            self._guard_now(draft, making)
            guarded.commit(draft)

    def _guard_now(self, draft: Draft, making: Making) -> None:
        topics = [topic for name in draft.guarding if (topic := self._registry.topics.get(name))]
        making.undo(partial(self._unguard, [one for one in topics if one.name not in self._guarded.topics]))
        for first in range(0, len(topics), AT_ONCE):
            self._plane.guard([topic.number for topic in topics[first : first + AT_ONCE]], True)

    def _unguard(self, topics: list[Topic]) -> None:
        """A topic of which messages wait stays guarded for a while though nothing is promised on it."""
        self._guarded.stray.update(topic.name for topic in topics)
        for topic in topics:
            if self._plane.guard([topic.number], False):
                self._guarded.stray.discard(topic.name)

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

    def _require_room(self, flow: Offered, contract: Contract) -> None:
        """What a flow may have under way within a promised latency has room on its way through the broker."""
        promise_ns = contract.promise_ns or 0
        require_queue(flow, self._tolerance_ns, promise_ns)
        require_output(flow, self._tolerance_ns, promise_ns, self._output_bytes)

    def _is_known(self, contract: Contract | None) -> bool:
        """Whether a client has come back for it: what it asked was compared when it was made."""
        return contract is not None and contract.key in self._guarded.contracts.by_key

    def _draw_up(self, draft: Draft, client: str, pattern: str, need: Need, comparisons: int) -> None:
        """The contract of a subscription, if it is one: what its client comes back for, or a new one."""
        contracts = self._guarded.contracts
        if need.max_latency_ns is None and not is_demanding(need):
            return
        old = contracts.claimable(client, pattern, need, comparisons)
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
                require_limit(_offered(flow), suggested=self.suggestions.get((flow.client.name, topic.name)))
                self._require_room(_offered(flow), draft.contract)
                publishers.setdefault(flow.client, topic.name)
        for client, name in publishers.items():
            require_stream(client, name)
            require_limits_beside(client, name)
            self._count_all(draft, client)
        covered = self._guarded.tree.covered(pattern)
        for held in (held for name in covered for held in self._guarded.holdings.on(name)):
            # Also of who is away: it shall not find its place kept, and be refused for this promise.
            kept = Offered(held.client, held.topic, held.offer)
            self._require_room(kept, draft.contract)
        for name in dict.fromkeys([topic.name for topic in topics] + covered):
            self._guard(draft, name, [draft.contract])

    def _guard(self, draft: Draft, topic: str, contracts: list[Contract]) -> None:
        """A topic is guarded from now on, for those who were promised something."""
        for contract in contracts:
            draft.ask(contract, topic)
        draft.guarding.add(topic)
        self._receive(draft, topic)

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
        draft.count(new, self._guarded.holdings.get(new.client, new.topic), self._clock())

    # --- deciding

    def _decided(self, draft: Draft) -> Draft:
        """The draft, if every contract holds with it; raises `Refused`."""
        guarded = self._guarded
        rest = larger(guarded.rest, draft.asks)
        change = guarded.change(draft, rest)
        objection = None if change == Change() else guarded.book.decide(change)
        if objection is not None:
            # Other traffic may have become less since it was last looked at.
            less = larger(guarded.rest_now(), draft.asks)
            if less != rest:
                change = guarded.change(draft, less)
                objection = guarded.book.decide(change)
        if objection is not None:
            search = Search(guarded.book, change)
            own = objection.own and draft.contract is not None
            raise refusal(objection, search, draft.beside, own=own)
        draft.rest = change.rest
        return draft


def _offered(flow: Flow) -> Offered:
    return Offered(flow.client.name, flow.topic.name, offer_of(flow.offer))
