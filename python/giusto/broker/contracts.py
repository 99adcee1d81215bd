"""Which needs are kept, for whom and until when, and which of them cover a topic.

A contract is live while its client is there. Of a client that went without a goodbye it is away: it counts as
before, until its time is over or a client of the same name comes for it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from giusto import _core
from giusto.broker.registry import Subscription
from giusto.contract import Need
from giusto.guarantee.model import Demand
from giusto.protocol import VerdictTerms


@dataclass(slots=True, eq=False)
class Contract:
    """A need that is kept. `topics` are those on which it is a demand now, `told` what its client knows.

    `comparisons` are those of its filter, which count while its client is away too.
    """

    key: str
    client: str
    pattern: str
    need: Need
    comparisons: int = 0
    subscription: Subscription | None = None
    until_ns: int | None = None
    topics: set[str] = field(default_factory=set)
    told: VerdictTerms | None = None

    @property
    def promise_ns(self) -> int | None:
        """The latency that was promised, if one was."""
        return self.need.max_latency_ns

    def demand(self, topic: str) -> Demand:
        """What it asks of a topic."""
        assert self.promise_ns is not None
        return Demand(
            key=self.key,
            client=self.client,
            topic=topic,
            max_latency_ns=self.promise_ns,
            pattern=self.pattern,
        )


class Contracts:
    """All contracts of a broker."""

    def __init__(self) -> None:
        self.by_key: dict[str, Contract] = {}
        self.away: dict[str, Contract] = {}
        self._by_number: dict[int, Contract] = {}
        self._by_client: defaultdict[str, dict[str, Contract]] = defaultdict(dict)
        self._by_subscription: dict[Subscription, Contract] = {}
        self._numbers: dict[str, int] = {}
        self._next = itertools.count()
        self._matcher = _core.Matcher()

    def new_key(self, client: str, pattern: str) -> str:
        """A name that no other contract has, and that means the same after a restart."""
        for place in itertools.count(len(self._by_client.get(client, {})) + 1):
            key = f"{client} {pattern} {place}"
            if key not in self.by_key:
                return key
        raise AssertionError("counting ends")

    def add(self, contract: Contract) -> None:
        """Keep it."""
        number = self._numbers[contract.key] = next(self._next)
        self.by_key[contract.key] = self._by_number[number] = contract
        self._by_client[contract.client][contract.key] = contract
        self._matcher.subscribe(number, contract.pattern)
        if contract.until_ns is not None:
            self.away[contract.key] = contract

    def remove(self, contract: Contract) -> None:
        """Keep it no longer."""
        number = self._numbers.pop(contract.key)
        del self.by_key[contract.key], self._by_number[number]
        self._matcher.unsubscribe(number)
        self.away.pop(contract.key, None)
        if contract.subscription is not None:
            del self._by_subscription[contract.subscription]
        ours = self._by_client[contract.client]
        del ours[contract.key]
        if not ours:
            del self._by_client[contract.client]

    def depart(self, contract: Contract, until_ns: int) -> None:
        """Its client has gone, and has until then to come back."""
        if contract.subscription is not None:
            del self._by_subscription[contract.subscription]
        contract.subscription, contract.told, contract.until_ns = None, None, until_ns
        self.away[contract.key] = contract

    def arrive(self, contract: Contract, subscription: Subscription) -> None:
        """Its client is there."""
        contract.subscription, contract.until_ns = subscription, None
        self._by_subscription[subscription] = contract
        self.away.pop(contract.key, None)

    def of_client(self, client: str) -> list[Contract]:
        """Every contract of a client, live or away."""
        return list(self._by_client.get(client, {}).values())

    def of_subscription(self, subscription: Subscription) -> Contract | None:
        """The contract of a subscription, if it has one."""
        return self._by_subscription.get(subscription)

    def claimable(self, client: str, pattern: str, need: Need, comparisons: int) -> Contract | None:
        """What a client comes back for: the same need and filter, the same need, or the same pattern."""
        if not self.away:
            return None
        away = [one for one in self.of_client(client) if one.until_ns is not None and one.pattern == pattern]

        def likeness(one: Contract) -> tuple[bool, bool]:
            return one.need == need, one.comparisons == comparisons

        return max(away, key=likeness, default=None)

    def covering(self, topic: str) -> list[Contract]:
        """The contracts that ask something of a topic, in the order in which they were made."""
        self._matcher.add_topic(topic)
        try:
            return [self._by_number[number] for number in self._matcher.matching(topic)]
        finally:
            self._matcher.remove_topic(topic)

    def promising(self, topic: str) -> list[Contract]:
        """Those of them that promise a latency: they make the topic guarded."""
        return [one for one in self.covering(topic) if one.promise_ns is not None]

    def expired(self, now_ns: int) -> Iterator[Contract]:
        """Those whose time is over."""
        for contract in list(self.away.values()):
            if contract.until_ns is not None and contract.until_ns <= now_ns:
                yield contract
