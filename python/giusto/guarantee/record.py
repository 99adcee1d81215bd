"""One topic of a book: who publishes on it, what was promised on it, and its share if it is guarded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from giusto.guarantee.model import Allotted, Demand, Setting, Supply
from giusto.guarantee.stream import Stream


@dataclass(frozen=True, slots=True)
class Record:
    """Never changed, only replaced; `streams` by client, `demands` by (key, client)."""

    name: str
    allotted: Allotted | None = None
    streams: Mapping[str, Stream] = field(default_factory=dict)
    demands: Mapping[tuple[str, str], Demand] = field(default_factory=dict)

    @property
    def is_guarded(self) -> bool:
        """Whether it is served before the rest."""
        return self.allotted is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of it."""
        return self.allotted is None and not self.streams and not self.demands

    @property
    def promise_ns(self) -> int | None:
        """The least of what was promised."""
        return min((demand.max_latency_ns for demand in self.demands.values()), default=None)

    @property
    def audience(self) -> tuple[int, int, int]:
        """Who gets a message; nobody if it is not guarded."""
        return (0, 0, 0) if self.allotted is None else self.allotted.audience

    def with_allotted(self, allotted: Allotted | None, setting: Setting) -> Record:
        """With another share or audience, or not guarded any more."""
        changed = replace(self, allotted=allotted)
        if changed.audience == self.audience:
            return changed
        streams = {
            client: Stream.of(stream.supply, setting, changed.audience)
            for client, stream in self.streams.items()
        }
        return replace(changed, streams=streams)

    def with_supply(self, supply: Supply, setting: Setting) -> Record:
        """With one publisher more."""
        stream = Stream.of(supply, setting, self.audience)
        return replace(self, streams={**self.streams, supply.client: stream})

    def without_supply(self, supply: Supply) -> Record:
        """With one publisher less."""
        streams = {client: stream for client, stream in self.streams.items() if client != supply.client}
        return replace(self, streams=streams)

    def with_demand(self, demand: Demand) -> Record:
        """With one promise more."""
        return replace(self, demands={**self.demands, (demand.key, demand.client): demand})

    def without_demand(self, demand: Demand) -> Record:
        """With one promise less."""
        gone = (demand.key, demand.client)
        return replace(self, demands={key: kept for key, kept in self.demands.items() if key != gone})
