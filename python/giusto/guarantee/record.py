"""One topic of a book: who publishes on it, what was promised on it, and its share if it is guarded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from giusto.guarantee.model import Allotted, Demand, Setting, Supply
from giusto.guarantee.stream import Stream


@dataclass(frozen=True, slots=True)
class Record:
    """Never changed, only replaced; `streams` by client, `demands` by (key, client).

    `made` is what was made of the streams alone: it is kept for as long as they stay the same.
    """

    name: str
    allotted: Allotted | None = None
    streams: Mapping[str, Stream] = field(default_factory=dict)
    demands: Mapping[tuple[str, str], Demand] = field(default_factory=dict)
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
    def promise_ns(self) -> int | None:
        """The least of what was promised."""
        return min((demand.max_latency_ns for demand in self.demands.values()), default=None)

    @property
    def fanout(self) -> int:
        """How many clients get a message."""
        return 0 if self.allotted is None else self.allotted.fanout

    def with_allotted(self, allotted: Allotted | None, setting: Setting) -> Record:
        """With another share or fanout, or not guarded any more."""
        changed = replace(self, allotted=allotted)
        if changed.fanout == self.fanout:
            return changed
        streams = {
            client: Stream.of(stream.supply, setting, changed.fanout)
            for client, stream in self.streams.items()
        }
        return changed.with_streams(streams)

    def with_streams(self, streams: Mapping[str, Stream]) -> Record:
        """With other publishers."""
        return replace(self, streams=streams, made={})

    def with_supply(self, supply: Supply, setting: Setting) -> Record:
        """With one publisher more."""
        stream = Stream.of(supply, setting, self.fanout)
        return self.with_streams({**self.streams, supply.client: stream})

    def without_supply(self, supply: Supply) -> Record:
        """With one publisher less."""
        streams = {client: stream for client, stream in self.streams.items() if client != supply.client}
        return self.with_streams(streams)

    def with_demand(self, demand: Demand) -> Record:
        """With one promise more."""
        return replace(self, demands={**self.demands, (demand.key, demand.client): demand})

    def without_demand(self, demand: Demand) -> Record:
        """With one promise less."""
        gone = (demand.key, demand.client)
        return replace(self, demands={key: kept for key, kept in self.demands.items() if key != gone})
