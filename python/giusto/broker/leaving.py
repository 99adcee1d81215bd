"""What is let go when something ends, and when: at once, when nothing of it is on its way, or after a while.

What ends makes nothing later, so that there is nothing to decide. It is away first and let go then, some at
a time. What cannot be let go counts on, and is tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from giusto.broker.contracts import Contract
from giusto.broker.draft import Draft
from giusto.broker.guarded import Guarded
from giusto.broker.holdings import Holding
from giusto.broker.keeping import Keeping
from giusto.broker.mishap import survived
from giusto.broker.plane import Plane
from giusto.broker.registry import Client, Flow, Registry, Subscription
from giusto.broker.releasing import Releasing
from giusto.broker.shares import shares_set

AT_ONCE = 16
AGAIN_NS = 10_000_000_000

_log = logging.getLogger("giusto.broker")
_Item = TypeVar("_Item")


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
        self._releasing = Releasing(plane, registry, guarded, self._ended, clock)
        self._due: dict[Contract | Holding, None] = {}
        # Fewer clients receive what these cover.
        self._patterns: dict[str, None] = {}

    # --- what ends

    def unadvertised(self, flow: Flow) -> None:
        """A client publishes no longer; messages of it may be on their way for as long as was promised."""
        held = self._guarded.holdings.get(flow.client.name, flow.topic.name)
        if held is not None and held.until_ns is None:
            self._part(held, self._linger_ns(held.topic))
        self.some()

    def unsubscribed(self, subscription: Subscription) -> None:
        """A subscription has ended; called when the registry does not have it any more."""
        contract = self._guarded.contracts.of_subscription(subscription)
        if contract is not None:
            self._depart(contract)
        self.left([subscription.pattern])

    def goodbye(self, client: Client) -> None:
        """A client leaves for good: nothing that it had is kept. What still waits for one of its name is."""
        for contract in self._guarded.contracts.of_client(client.name):
            if contract.until_ns is None:
                self._depart(contract)
        for held in self._guarded.holdings.of(client.name):
            if held.until_ns is None:
                self._part(held, self._linger_ns(held.topic))

    def vanished(self, client: Client) -> None:
        """A connection has ended: what is still promised is kept for a while, if somebody can come for it."""
        if client.unnamed:
            self.goodbye(client)
            return
        until_ns = self._clock() + self._reserve_ns
        for contract in self._guarded.contracts.of_client(client.name):
            if contract.until_ns is None:
                self._guarded.contracts.depart(contract, until_ns)
        for held in self._guarded.holdings.of(client.name):
            if held.until_ns is None:
                self._part(held, self._reserve_ns)

    def left(self, patterns: Iterable[str]) -> None:
        """Fewer clients receive the topics that some patterns cover; the registry knows it."""
        self._patterns.update(dict.fromkeys(patterns))
        self.some()

    # --- when it is let go

    @property
    def has_due(self) -> bool:
        """Whether time alone will change something."""
        guarded = self._guarded
        holdings = guarded.holdings
        away = guarded.contracts.away or holdings.away or holdings.wide
        return bool(away or guarded.releasing or guarded.stray or self._due or self._patterns)

    @property
    def is_behind(self) -> bool:
        """Whether something could be let go now."""
        return bool(self._due or self._patterns) or self._releasing.is_behind

    def tend(self) -> None:
        """Let go some of what has been kept long enough; the others when `some` is called."""
        now_ns = self._clock()
        self._due.update(dict.fromkeys(self._guarded.contracts.expired(now_ns)))
        self._due.update(dict.fromkeys(self._guarded.holdings.expired(now_ns)))
        self._due.update(dict.fromkeys(self._guarded.holdings.settled(now_ns)))
        self.some()

    def some(self) -> int:
        """Let go some of what is due, with one transaction; how much it was."""
        with self._keeping.together():
            due = _taken(self._due)
            for one in due:
                self._let_go(one)
            patterns = _taken(self._patterns)
            with survived("counting who receives"):
                self._recount(patterns)
            return len(due) + len(patterns) + self._releasing.some()

    # --- one thing at a time

    def _linger_ns(self, topic: str) -> int:
        """How long messages of a topic may be on their way: as long as was promised."""
        return self._guarded.promise_ns(topic) or 0

    def _depart(self, contract: Contract) -> None:
        self._guarded.contracts.depart(contract, self._clock())
        self._due[contract] = None

    def _part(self, held: Holding, after_ns: int) -> None:
        """A publisher has gone. What it had on a guarded topic counts for some time."""
        now_ns = self._clock()
        if held.topic in self._guarded.topics:
            held.is_loose |= self._guarded.promise_ns(held.topic) is None
            self._guarded.holdings.depart(held, now_ns + after_ns, now_ns + self._linger_ns(held.topic))
        else:
            self._guarded.holdings.depart(held, now_ns, now_ns)
            self._due[held] = None

    def _let_go(self, one: Contract | Holding) -> None:
        now_ns = self._clock()
        if one.until_ns is None:
            self._settle(one)
            return
        if one.until_ns > now_ns or not self._is_away(one):
            return
        try:
            if isinstance(one, Contract):
                self._drop(one)
            elif self._is_out(one):
                self._end(one)
        except Exception:
            _log.exception("something of %s cannot be let go: it counts on", one.client)
            one.until_ns = now_ns + AGAIN_NS

    def _is_away(self, one: Contract | Holding) -> bool:
        """Whether it still waits for its end, and nothing else has its place."""
        if isinstance(one, Contract):
            return self._guarded.contracts.away.get(one.key) is one
        return self._guarded.holdings.away.get((one.client, one.topic)) is one

    def _settle(self, one: Contract | Holding) -> None:
        """A flow that is there, if it is wide still: what it took the place of may be out."""
        if isinstance(one, Holding) and self._guarded.holdings.wide.get((one.client, one.topic)) is one:
            with survived("counting a flow as it is"):
                if self._is_out(one):
                    self._narrow(one)

    def _is_out(self, held: Holding) -> bool:
        """Whether no message of a flow that ended waits: if it is loose, the data plane tells by a release.

        If something is promised on its topic again before that, they are out when this is over.
        """
        if not held.is_loose:
            return True
        promise_ns = self._guarded.promise_ns(held.topic)
        if promise_ns is None:
            self._guarded.releasing.add(held.topic)
            return False
        held.is_loose = False
        held.quiet_ns = self._clock() + promise_ns
        if held.until_ns is not None:
            held.until_ns = held.quiet_ns
        return False

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
        guarded = self._guarded
        change = guarded.change(draft, guarded.rest)
        if guarded.book.decide(change) is None:
            with shares_set(self._plane, self._registry, guarded.book, draft, change):
                guarded.commit(draft)

    def _drop(self, contract: Contract) -> None:
        topics = set(contract.topics)
        draft = Draft(replaced=contract)
        draft.ask_no_more(contract, topics)
        self._ended(draft)
        self._guarded.releasing.update(topics)
        self._patterns[contract.pattern] = None

    def _ended(self, draft: Draft) -> None:
        guarded = self._guarded
        change = guarded.change(draft, draft.rest or guarded.rest)
        with shares_set(self._plane, self._registry, guarded.book, draft, change):
            guarded.commit(draft)
        self._keeping.erase(draft)

    def _recount(self, patterns: list[str]) -> None:
        """Fewer clients may receive the guarded topics that some patterns cover."""
        draft = Draft()
        for topic in {topic for pattern in patterns for topic in self._guarded.tree.covered(pattern)}:
            present, found = self._guarded.topics[topic], self._guarded.allotted(topic, draft)
            if found.subscriptions < present.subscriptions:
                draft.topics[topic] = replace(found, share=present.share, place=present.place)
        if draft.topics:
            # Where links have a bandwidth, deadlines of other topics become later with them.
            self._ended(draft)


def _taken(waiting: dict[_Item, None]) -> list[_Item]:
    """The first of those that wait; they do not any more."""
    first = list(islice(waiting, AT_ONCE))
    for one in first:
        del waiting[one]
    return first
