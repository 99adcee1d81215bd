"""What the topics of a book are after a change, or which part of the change makes no sense."""

from __future__ import annotations

from collections.abc import Mapping

from giusto.errors import Duplicate, InvalidInput, Unknown
from giusto.guarantee import stream
from giusto.guarantee.links import is_limited
from giusto.guarantee.model import Allotted, Change, Demand, Setting, Supply
from giusto.guarantee.record import Record

Records = Mapping[str, Record]


class Draft:
    """The records that a change touches, as they will be; what goes is taken out before what comes."""

    def __init__(self, records: Records, setting: Setting) -> None:
        self.records = records
        self.setting = setting
        self.after: dict[str, Record] = {}

    def record(self, topic: str) -> Record:
        """As it is at this point of the change."""
        if topic in self.after:
            return self.after[topic]
        return self.records.get(topic) or Record(topic)

    def apply(self, change: Change) -> dict[str, Record]:
        """The touched records."""
        for demand in change.demands_gone:
            self.end(demand)
        for supply in change.supplies_gone:
            self.withdraw(supply)
        for topic in change.released:
            self.release(topic)
        for allotted in change.topics:
            self.allot(allotted)
        for supply in change.supplies:
            self.offer(supply)
        for demand in change.demands:
            self.ask(demand)
        if change.rest is not None:
            for name in ("fanout", "size_bytes", "comparisons"):
                stream.require_whole(f"rest.{name}", getattr(change.rest, name), 0)
        return self.after

    def end(self, demand: Demand) -> None:
        """A promise that is there."""
        record = self.record(demand.topic)
        if record.demands.get((demand.key, demand.client)) != demand:
            raise Unknown("demand", f"{demand.key} of {demand.client} on {demand.topic}")
        self.after[demand.topic] = record.without_demand(demand, is_kept_to=is_limited(self.setting))

    def withdraw(self, supply: Supply) -> None:
        """A flow that is there."""
        record = self.record(supply.topic)
        found = record.streams.get(supply.client)
        if found is None or found.supply != supply:
            raise Unknown("supply", f"of {supply.client} on {supply.topic}")
        self.after[supply.topic] = record.without_supply(supply)

    def release(self, topic: str) -> None:
        """A guarded topic on which nothing is promised any more."""
        record = self.record(topic)
        if record.allotted is None:
            raise Unknown("guarded topic", topic)
        if record.demands:
            raise InvalidInput("released", topic, "a topic without demands: end them in the same change")
        self.after[topic] = record.with_allotted(None, self.setting)

    def allot(self, allotted: Allotted) -> None:
        """A topic that is guarded from now on, or that changes."""
        for name in ("fanout", "subscriptions", "comparisons"):
            stream.require_whole(name, getattr(allotted, name), 0)
        self.after[allotted.topic] = self.record(allotted.topic).with_allotted(allotted, self.setting)

    def offer(self, supply: Supply) -> None:
        """A new flow."""
        stream.check(supply)
        record = self.record(supply.topic)
        if supply.client in record.streams:
            raise Duplicate("supply", f"of {supply.client} on {supply.topic}")
        self.after[supply.topic] = record.with_supply(supply, self.setting)

    def ask(self, demand: Demand) -> None:
        """A new promise, on a topic that is guarded."""
        stream.require_whole("demand.max_latency_ns", demand.max_latency_ns, 1)
        record = self.record(demand.topic)
        if record.allotted is None:
            raise Unknown("guarded topic", demand.topic)
        if (demand.key, demand.client) in record.demands:
            raise Duplicate("demand", f"{demand.key} of {demand.client} on {demand.topic}")
        self.after[demand.topic] = record.with_demand(demand)
