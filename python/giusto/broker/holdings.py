"""Which flows count in the bounds, of whom and until when.

A flow counts while its client is there; after that for as long as messages of it may be on their way, or as
long as the place of a client that vanished is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from giusto.contract import Offer
from giusto.guarantee.model import Supply
from giusto.guarantee.supplies import supply_of
from giusto.protocol import OfferTerms


@dataclass(slots=True, eq=False)
class Holding:
    """A flow that counts; `until_ns` is set when its client has gone."""

    supply: Supply
    offer: Offer
    until_ns: int | None = None

    @property
    def client(self) -> str:
        return self.supply.client

    @property
    def topic(self) -> str:
        return self.supply.topic


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

    def remove(self, holding: Holding) -> None:
        """Count it no longer."""
        self.away.pop((holding.client, holding.topic), None)
        for index, name, other in (
            (self._by_topic, holding.topic, holding.client),
            (self._by_client, holding.client, holding.topic),
        ):
            del index[name][other]
            if not index[name]:
                del index[name]

    def depart(self, holding: Holding, until_ns: int) -> None:
        """Its client has gone; it counts until then."""
        holding.until_ns = until_ns
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
