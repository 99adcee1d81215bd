"""What a request would change in the guarded part of a broker, while it is being put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from giusto.broker.contracts import Contract
from giusto.broker.holdings import Holding
from giusto.guarantee.model import Allotted, Change, Demand, Rest
from giusto.guarantee.rest import REST_LEAST, rest_of


class Comer(NamedTuple):
    """A subscription that is to come: whose it is, and the comparisons of its filter."""

    client: str
    comparisons: int


@dataclass(slots=True)
class Draft:
    """Flows, demands and topics that come, change and go; what other traffic `asks`, and what it gets.

    What it asks is rounded; `beside` is what was said.
    """

    holdings: dict[tuple[str, str], Holding] = field(default_factory=dict)
    before: list[Holding] = field(default_factory=list)
    ended: list[Holding] = field(default_factory=list)
    demands: dict[tuple[str, str], Contract] = field(default_factory=dict)
    demands_gone: dict[tuple[str, str], Contract] = field(default_factory=dict)
    topics: dict[str, Allotted] = field(default_factory=dict)
    released: list[str] = field(default_factory=list)
    guarding: set[str] = field(default_factory=set)
    contract: Contract | None = None
    replaced: Contract | None = None
    comer: Comer | None = None
    asks: Rest = REST_LEAST
    beside: Rest = field(default_factory=Rest)
    rest: Rest | None = None

    def ask_beside(self, fanout: int, size_bytes: int, comparisons: int = 0) -> None:
        """Other traffic: the subscriptions of a topic, its largest message, the comparisons of filters."""
        self.beside = Rest(fanout=fanout, size_bytes=size_bytes, comparisons=comparisons)
        self.asks = rest_of(fanout, size_bytes, comparisons)

    def count(self, new: Holding, old: Holding | None, now_ns: int) -> None:
        """A flow counts from now on, in the place of what counted for it before."""
        place = (new.client, new.topic)
        if place in self.holdings:
            return
        if old is None:
            self.holdings[place] = new
        elif old.until_ns is not None or old.offer != new.offer:
            self.replace(old, new.after(old, now_ns))

    def replace(self, old: Holding, new: Holding) -> None:
        """A flow counts in another way from now on."""
        self.holdings[new.client, new.topic] = new
        self.before.append(old)
        if old.supply != new.supply:
            self.ended.append(old)

    def ask(self, contract: Contract, topic: str) -> None:
        """A contract is a demand on a topic from now on."""
        if topic not in contract.topics:
            self.demands[contract.key, topic] = contract

    def ask_no_more(self, contract: Contract, topics: Iterable[str]) -> None:
        """A contract is no demand on some topics any more."""
        for topic in contract.topics.intersection(topics):
            self.demands_gone[contract.key, topic] = contract

    def change(self, known: set[tuple[str, str]], rest: Rest | None) -> Change:
        """The change for the book; flows that are `known` (client, topic) come back as they were."""
        gone = {(one.client, one.topic) for one in self.ended}
        return Change(
            supplies=tuple(
                one.supply for place, one in self.holdings.items() if place not in known or place in gone
            ),
            supplies_gone=tuple(one.supply for one in self.ended),
            demands=_demands(self.demands),
            demands_gone=_demands(self.demands_gone),
            topics=tuple(self.topics.values()),
            released=tuple(self.released),
            rest=rest,
            asking="" if self.contract is None else self.contract.key,
        )


def _demands(found: dict[tuple[str, str], Contract]) -> tuple[Demand, ...]:
    return tuple(contract.demand(topic) for (_, topic), contract in found.items())
