"""What is guarded in a broker: which flows count, what was promised, and what all of it comes to.

A topic is guarded while a promise covers it and somebody publishes on it. This is state alone: the desk
decides what comes, the exit lets go what ends.
"""

from __future__ import annotations

from collections.abc import Callable

from giusto.broker.contracts import Contract, Contracts
from giusto.broker.draft import Comer, Draft
from giusto.broker.holdings import Holdings
from giusto.broker.registry import Registry
from giusto.broker.renewal import Renewal
from giusto.broker.tree import TopicTree
from giusto.config import BrokerConfig
from giusto.errors import Overload
from giusto.guarantee.book import Book
from giusto.guarantee.model import Allotted, Bound, Change, Rest
from giusto.guarantee.rest import larger, rest_of
from giusto.protocol import ShareTerms


class Guarded:
    """The guarded part of one broker. `releasing` are topics that may not have to be guarded any more.

    `stray` are those that the data plane guards though nothing is promised on them.
    """

    def __init__(
        self, registry: Registry, config: BrokerConfig, book: Book, clock: Callable[[], int]
    ) -> None:
        self.book = book
        self.contracts = Contracts()
        self.holdings = Holdings()
        self.topics: dict[str, Allotted] = {}
        self.tree = TopicTree()
        self.rest = rest_of(0, 0)
        self.releasing: set[str] = set()
        self.stray: set[str] = set()
        self._registry = registry
        self._config = config
        self._shares: dict[str, ShareTerms] = {}
        self._renewal = Renewal(book, self.contracts, clock)

    # --- what is known

    @property
    def basis(self) -> str:
        """On which costs the promises rest."""
        return self.book.setting.costs.basis

    def share(self, topic: str) -> ShareTerms:
        """What a topic is allotted, also when it does not exist now."""
        known = self._registry.topics.get(topic)
        if known is not None:
            return known.share
        return self._shares.get(topic) or self._config.share(topic)

    def place(self, topic: str) -> int | None:
        """The number of a topic where the order of topics matters: under `smooth`."""
        known = self._registry.topics.get(topic)
        return known.number if known is not None and self.is_ordered else None

    @property
    def is_ordered(self) -> bool:
        """Whether the order of topics matters: then the data plane must have each that counts."""
        return self._config.input == "smooth"

    def keep_share(self, topic: str, share: ShareTerms) -> None:
        """A topic that need not exist now is allotted this."""
        self._shares[topic] = share

    def allotted(self, topic: str, draft: Draft) -> Allotted:
        """A topic that is guarded: its share, and who gets its messages if a draft is made.

        Contracts of clients that are away count as if these were here.
        """
        taken = (draft.contract, draft.replaced) if draft.comer else ()
        away = (one for one in self.contracts.covering(topic) if one.subscription is None)
        found = [Comer(each.client.name, each.comparisons) for each in self._registry.subscriptions_to(topic)]
        found += [Comer(one.client, one.comparisons) for one in away if one not in taken]
        found += [draft.comer] if draft.comer else []
        clients = {one.client for one in found}
        return Allotted(
            topic=topic,
            share=self.share(topic),
            fanout=len(clients),
            place=self.place(topic),
            subscriptions=len(found),
            comparisons=sum(one.comparisons for one in found),
            receivers=frozenset(clients) if self.book.links.is_limited else frozenset(),
        )

    def is_urgent(self, client: str) -> bool:
        """Whether a client that is there publishes on a guarded topic."""
        return any(one.until_ns is None and one.topic in self.topics for one in self.holdings.of(client))

    def is_needed(self, topic: str) -> bool:
        """Whether a topic has to be guarded: somebody publishes, and somebody was promised something."""
        return bool(self.holdings.on(topic) and self.contracts.promising(topic))

    def bound_ns(self, topic: str) -> int | None:
        """The largest bound on a topic, if it is guarded."""
        try:
            worst = self.book.worst_on(topic) if topic in self.topics else None
        except Overload:
            return None
        return None if worst is None else worst.total_ns

    def bound(self, client: str, topic: str) -> Bound | None:
        """The bound of a flow; none if its topic is not guarded, or if nobody needs one and none exists."""
        try:
            return self.book.bound(client, topic) if topic in self.topics else None
        except Overload:
            return None

    def promise_ns(self, topic: str) -> int | None:
        """The tightest promise on a topic, if it is guarded."""
        record = self.book.records.get(topic)
        return record.promise_ns if record is not None and topic in self.topics else None

    def client_share(self, client: str) -> float | None:
        """θ: the part of the time that the guarded flows of a client are sure of."""
        return self.book.client_share(client)

    def take_moved(self) -> list[Contract]:
        """Live contracts whose verdict may be another one than was told: as many as a turn may have."""
        return self._renewal.take()

    def rest_now(self) -> Rest:
        """The traffic that is not guarded now, with what may wait of flows that ended.

        A topic that is about to come under contract is one of it: what waits of it goes out with the rest.
        """
        rest = rest_of(0, 0)
        for topic in self._registry.topics.values():
            if topic.size_bytes and topic.name not in self.topics:
                rest = larger(rest, rest_of(topic.subscribers, topic.size_bytes, topic.comparisons))
        return rest

    # --- what becomes of it

    def exchange(self, book: Book) -> None:
        """Another book in the place of this one, with the same promises and flows in it."""
        self.book = book
        self._renewal.exchange(book)

    def change(self, draft: Draft, rest: Rest | None) -> Change:
        """A draft as a change of the book, with the rest as it is then."""
        known = {place for place in draft.holdings if self.holdings.get(*place) is not None}
        return draft.change(known, None if rest == self.rest else rest)

    def commit(self, draft: Draft) -> None:
        """Make a change that was decided."""
        change = self.change(draft, draft.rest or self.rest)
        if change != Change():
            self.book.commit(change)
        self.rest = change.rest or self.rest
        for held in draft.ended:
            self.holdings.remove(held)
        for held in draft.holdings.values():
            self.holdings.add(held)
        self._commit_topics(draft)
        self._commit_contracts(draft)
        for topic in {held.topic for held in (*draft.holdings.values(), *draft.ended)}:
            self._renewal.move(self.contracts.covering(topic))

    def _commit_topics(self, draft: Draft) -> None:
        for name, allotted in draft.topics.items():
            if name not in self.topics:
                self.tree.add(name)
            self.topics[name] = allotted
            self._shares[name] = allotted.share
        for name in draft.released:
            del self.topics[name]
            self.tree.remove(name)
            self._shares.pop(name, None)
            self.releasing.discard(name)
            for held in self.holdings.on(name):
                held.is_loose = False

    def _commit_contracts(self, draft: Draft) -> None:
        for (_, topic), contract in draft.demands_gone.items():
            contract.topics.discard(topic)
            self._loosen(topic)
        if draft.replaced is not None:
            self.contracts.remove(draft.replaced)
        if draft.contract is not None and draft.contract.key not in self.contracts.by_key:
            self.contracts.add(draft.contract)
        for (_, topic), contract in draft.demands.items():
            contract.topics.add(topic)

    def _loosen(self, topic: str) -> None:
        """If nothing is promised on a topic any more, nothing says when messages of it are out."""
        if topic in self.topics and self.promise_ns(topic) is None:
            for held in self.holdings.on(topic):
                held.is_loose = held.until_ns is not None or held.wide is not None
