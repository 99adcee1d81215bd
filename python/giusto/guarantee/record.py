"""One topic of a book: who publishes on it, what was promised on it, and its share if it is guarded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from giusto.guarantee.model import Allotted, Demand, Setting, Supply
from giusto.guarantee.stream import Stream


@dataclass(frozen=True, slots=True)
class Record:
    """Never changed, only replaced; `streams` by client, `demands` by (key, client).

    `promise_ns` is the least of what was promised; where links have a bandwidth, the least since the topic
    came under contract. `made` is what was made of the streams alone: it is kept for as long as they stay
    the same.
    """

    name: str
    allotted: Allotted | None = None
    streams: Mapping[str, Stream] = field(default_factory=dict)
    demands: Mapping[tuple[str, str], Demand] = field(default_factory=dict)
    promise_ns: int | None = None
    made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_guarded(self) -> bool:
        """Whether it is served before the rest."""
        return self.allotted is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of it."""
        return self.allotted is None and not self.streams and not self.demands

    @property
    def audience(self) -> tuple[int, int, int]:
        """Who gets a message; nobody if it is not guarded."""
        return (0, 0, 0) if self.allotted is None else self.allotted.audience

    def with_allotted(self, allotted: Allotted | None, setting: Setting) -> Record:
        """With another share or audience, or not guarded any more."""
        promise_ns = None if allotted is None else self.promise_ns
        changed = Record(self.name, allotted, self.streams, self.demands, promise_ns, self.made)
        if changed.audience == self.audience:
            return changed
        streams = {
            client: Stream.of(stream.supply, setting, changed.audience)
            for client, stream in self.streams.items()
        }
        return changed.with_streams(streams)

    def with_streams(self, streams: Mapping[str, Stream]) -> Record:
        """With other publishers."""
        return Record(self.name, self.allotted, streams, self.demands, self.promise_ns)

    def with_supply(self, supply: Supply, setting: Setting) -> Record:
        """With one publisher more."""
        stream = Stream.of(supply, setting, self.audience)
        return self.with_streams({**self.streams, supply.client: stream})

    def without_supply(self, supply: Supply) -> Record:
        """With one publisher less."""
        streams = {client: stream for client, stream in self.streams.items() if client != supply.client}
        return self.with_streams(streams)

    def with_demand(self, demand: Demand) -> Record:
        """With one promise more."""
        asked_ns = demand.max_latency_ns
        least_ns = asked_ns if self.promise_ns is None else min(asked_ns, self.promise_ns)
        return self.with_demands({**self.demands, (demand.key, demand.client): demand}, least_ns)

    def without_demand(self, demand: Demand, *, is_kept_to: bool = False) -> Record:
        """With one promise less; its messages may have to come as early as before."""
        gone = (demand.key, demand.client)
        demands = {key: kept for key, kept in self.demands.items() if key != gone}
        if is_kept_to:
            return self.with_demands(demands, self.promise_ns)
        least_ns = min((kept.max_latency_ns for kept in demands.values()), default=None)
        return self.with_demands(demands, least_ns)

    def with_demands(self, demands: Mapping[tuple[str, str], Demand], promise_ns: int | None) -> Record:
        """With other promises."""
        return Record(self.name, self.allotted, self.streams, demands, promise_ns, self.made)
