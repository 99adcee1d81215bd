"""Which flows count in the bounds, of whom and until when.

A flow counts while its client is there; after that for as long as messages of it may be on their way, or as
long as the place of a client that vanished is kept. If its client comes back with another offer meanwhile,
the flow counts as the larger of both in every respect until the messages of the old one have gone: the data
plane lets no more pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from giusto.contract import Offer
from giusto.guarantee.model import Supply
from giusto.guarantee.supplies import larger_of, supply_of
from giusto.protocol import OfferTerms


@dataclass(slots=True, eq=False)
class Holding:
    """A flow that counts; `until_ns` is set when its client has gone.

    Until `quiet_ns` messages may be on their way: of the flow itself, if its client has gone, or of the one
    that it took the place of, which makes it count as `wide`. If they are `loose`, no promise says how long:
    what was promised on the topic ended before they were out.
    """

    own: Supply
    offer: Offer
    until_ns: int | None = None
    wide: Supply | None = None
    quiet_ns: int = 0
    is_loose: bool = False

    @property
    def supply(self) -> Supply:
        """As it counts."""
        return self.wide or self.own

    @property
    def client(self) -> str:
        return self.own.client

    @property
    def topic(self) -> str:
        return self.own.topic

    def after(self, old: Holding, now_ns: int) -> Holding:
        """This flow in the place of an `old` one."""
        if old.quiet_ns <= now_ns and not old.is_loose:
            return self
        wide = larger_of(self.own, old.supply)
        wide_or_none = None if wide == self.own else wide
        return replace(self, wide=wide_or_none, quiet_ns=old.quiet_ns, is_loose=old.is_loose)


def holding(client: str, topic: str, offer: Offer, tolerance_ns: int, until_ns: int | None = None) -> Holding:
    """A flow as it counts. The offer must have a limit."""
    return Holding(supply_of(client, topic, offer, tolerance_ns), offer, until_ns)


@lru_cache(4096)
def offer_of(terms: OfferTerms) -> Offer:
    """The offer of a flow; many flows offer the same."""
    return Offer.from_terms(terms)


class Holdings:
    """All flows that count, by topic and by client."""

    def __init__(self) -> None:
        self.away: dict[tuple[str, str], Holding] = {}
        self.wide: dict[tuple[str, str], Holding] = {}
        self._by_topic: defaultdict[str, dict[str, Holding]] = defaultdict(dict)
        self._by_client: defaultdict[str, dict[str, Holding]] = defaultdict(dict)

    def add(self, holding: Holding) -> None:
        """Count it; it takes the place of the one with the same client and topic."""
        self._by_topic[holding.topic][holding.client] = holding
        self._by_client[holding.client][holding.topic] = holding
        if holding.until_ns is None:
            self.away.pop((holding.client, holding.topic), None)
        else:
            self.away[holding.client, holding.topic] = holding
        if holding.wide is None:
            self.wide.pop((holding.client, holding.topic), None)
        else:
            self.wide[holding.client, holding.topic] = holding

    def remove(self, holding: Holding) -> None:
        """Count it no longer."""
        self.away.pop((holding.client, holding.topic), None)
        self.wide.pop((holding.client, holding.topic), None)
        for index, name, other in (
            (self._by_topic, holding.topic, holding.client),
            (self._by_client, holding.client, holding.topic),
        ):
            del index[name][other]
            if not index[name]:
                del index[name]

    def depart(self, holding: Holding, until_ns: int, quiet_ns: int) -> None:
        """Its client has gone; it counts until then. From `quiet_ns` on no message of it is on its way."""
        holding.until_ns, holding.quiet_ns = until_ns, max(holding.quiet_ns, quiet_ns)
        self.away[holding.client, holding.topic] = holding

    def get(self, client: str, topic: str) -> Holding | None:
        """The flow of a client on a topic, if it counts."""
        return self._by_topic[topic].get(client) if topic in self._by_topic else None

    def on(self, topic: str) -> list[Holding]:
        """The flows on a topic that count."""
        return list(self._by_topic.get(topic, {}).values())

    def of(self, client: str) -> list[Holding]:
        """The flows of a client that count."""
        return list(self._by_client.get(client, {}).values())

    def expired(self, now_ns: int) -> Iterator[Holding]:
        """Those whose time is over."""
        for holding in list(self.away.values()):
            if holding.until_ns is not None and holding.until_ns <= now_ns:
                yield holding

    def settled(self, now_ns: int) -> list[Holding]:
        """Those that need not count as wide any more."""
        return [holding for holding in self.wide.values() if holding.quiet_ns <= now_ns]
