"""Whether everything that was promised still holds when something changes: admission.

A book is the guarded side of one broker. It is filled by changes, all or nothing; what it answers depends
on what it contains, never on the order in which that came. `decide` tries a change and takes it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from giusto.errors import Nearest, Overload, Unknown
from giusto.guarantee import stages
from giusto.guarantee.blocking import Delay, Reader
from giusto.guarantee.changes import Draft
from giusto.guarantee.fixed import ONE
from giusto.guarantee.links import Links
from giusto.guarantee.load import Load
from giusto.guarantee.model import Allotted, Bound, Change, Demand, Objection, Rest, Setting, Supply
from giusto.guarantee.objections import Case
from giusto.guarantee.parts import parts_of
from giusto.guarantee.record import Record
from giusto.guarantee.search import Search
from giusto.guarantee.setting import check_setting
from giusto.guarantee.stages.stage import Response
from giusto.guarantee.stream import Stream
from giusto.protocol import ShareTerms


class WorstFlow(NamedTuple):
    """The flow with the largest bound of some."""

    total_ns: int
    client: str
    topic: str


class Book:
    """The guarded topics of a broker, who publishes on them, and what was promised.

    `epoch` counts the changes: a bound is the same while it is.
    """

    def __init__(self, setting: Setting) -> None:
        check_setting(setting)
        self.setting = setting
        self.rest = Rest()
        self.records: dict[str, Record] = {}
        self.stage = stages.stage(setting)
        self.load = Load(setting)
        self.links = Links(setting)
        self.touched: frozenset[str] = frozenset()
        self.flows: dict[str, set[str]] = {}
        self.promises = 0
        self.epoch = 0
        self.known: dict[str, WorstFlow] = {}

    @property
    def topics(self) -> Mapping[str, Allotted]:
        """The guarded ones, by name."""
        return {name: record.allotted for name, record in self.records.items() if record.allotted}

    @property
    def supplies(self) -> tuple[Supply, ...]:
        """Every flow with a limit."""
        return tuple(stream.supply for record in self.records.values() for stream in record.streams.values())

    @property
    def demands(self) -> tuple[Demand, ...]:
        """Every promise."""
        return tuple(demand for record in self.records.values() for demand in record.demands.values())

    @property
    def utilisation(self) -> float:
        """Σ ρ F s + U_r: the part of the time that guarded traffic takes if all of it comes."""
        return (self.load.serving + self.load.reading) / ONE

    def decide(self, change: Change) -> Objection | None:
        """None: every promise, old and new, holds if the change is made. Nothing is changed."""
        with self.tried(change):
            return Case(self, change).objection()

    def commit(self, change: Change) -> None:
        """Make a change that `decide` did not object to; what holds is not looked at again."""
        self.swap(Draft(self.records, self.setting).apply(change), change.rest or self.rest)
        self.epoch += 1

    @contextmanager
    def tried(self, change: Change) -> Iterator[None]:
        """The book as it would be, until the end of the block."""
        after = Draft(self.records, self.setting).apply(change)
        before = {name: self.records.get(name) or Record(name) for name in after}
        rest, known = self.rest, self.known
        self.swap(after, change.rest or rest)
        try:
            yield
        finally:
            self.swap(before, rest)
            self.known = known

    def shares(self, change: Change) -> tuple[Allotted, ...]:
        """The topics whose share must be set in the data plane when the change is made, under `edf` only."""
        with self.tried(change):
            after = {name: (self.wanted(name), self.records.get(name)) for name in sorted(self.touched)}
        return tuple(
            replace(record.allotted, share=share)
            for name, (share, record) in after.items()
            if share is not None and record and record.allotted and share != self.wanted(name)
        )

    def wanted(self, topic: str) -> ShareTerms | None:
        """The share that follows from the promises on a topic, as things are."""
        record = self.records.get(topic)
        return self.stage.wanted(record) if record and record.allotted else None

    def nearest(self, change: Change) -> Nearest:
        """What could be granted instead of a change that is refused."""
        return Search(self, change).nearest()

    def bound(self, client: str, topic: str) -> Bound:
        """Of a flow on a guarded topic, as things are; `Overload` if it has none."""
        record = self.records.get(topic)
        stream = record.streams.get(client) if record and record.is_guarded else None
        if record is None or stream is None:
            raise Unknown("guarded flow", f"of {client} on {topic}")
        delay = self.delay_of(client)
        found = self.stage.response(record, stream, delay) if delay else None
        if delay is None or found is None:
            raise Overload(f"{client} offers more on {topic} than it is sure to be served: no bound exists")
        return self.bound_of(record, stream, delay, found)

    def bound_of(self, record: Record, stream: Stream, delay: Delay, found: Response) -> Bound:
        """A response with its links and parts."""
        found_parts = parts_of(self.setting, stream, delay, found)
        client = stream.supply.client
        return Bound(
            client=client,
            topic=record.name,
            total_ns=sum(part.ns for part in found_parts),
            parts=found_parts,
            topic_share=self.stage.topic_share(record),
            client_share=self.client_share(client) or 0.0,
        )

    def client_share(self, client: str) -> float | None:
        """θ: the part of the time that the guarded flows of a client are sure of; None if it has none."""
        every = (self.records[topic] for topic in self.flows.get(client, ()))
        guarded = [record for record in every if record.is_guarded]
        if not guarded:
            return None
        return sum(self.stage.client_share(record, record.streams[client]) for record in guarded)

    def worst(self, topics: Iterable[str]) -> Bound | None:
        """The largest bound of any flow on these topics, None if nobody publishes on them."""
        found = self.worst_flow(topics)
        return None if found is None else self.bound(found.client, found.topic)

    def worst_flow(self, topics: Iterable[str]) -> WorstFlow | None:
        """Whose bound is the largest on these topics; `Overload` if a flow there has none."""
        return max((flow for topic in topics if (flow := self.worst_on(topic))), default=None)

    def worst_on(self, topic: str) -> WorstFlow | None:
        """The same for one topic; looked at once until something changes."""
        record = self.records.get(topic)
        if record is None or not record.streams:
            return None
        found = self.known.get(topic)
        if found is None:
            found = self.known[topic] = self.find_worst(record)
        return found

    def find_worst(self, record: Record) -> WorstFlow:
        """Of all flows that are read alike, and of each that is read slowly."""
        delay = self.load.delay(self.rest)
        common = delay and self.common(delay) if self.stage.is_common else delay
        worst = self.stage.worst(record, common) if common and record.is_guarded else None
        if delay is None or worst is None:
            raise Overload(f"more is offered on {record.name} than it is sure to be served: no bound exists")
        found = WorstFlow(worst.total_ns, worst.client, record.name)
        for client, _ in self.load.slow(delay):
            if client in record.streams:
                found = max(found, WorstFlow(self.bound(client, record.name).total_ns, client, record.name))
        return found

    def delay_of(self, client: str) -> Delay | None:
        """What a message of this client waits for, whatever its topic is; None if it may wait for ever."""
        delay = self.load.delay(self.rest)
        if delay is None or self.stage.is_common:
            return None if delay is None else self.common(delay)
        turns = self.load.readers[client].more_turns(delay.turn_ns)
        return None if turns is None else delay.slower(turns)

    def common(self, delay: Delay) -> Delay | None:
        """For whoever is read in most turns; None if somebody is never read to the end."""
        turns = [reader.more_turns(delay.turn_ns) for _, reader in self.slow(delay)]
        known = [more for more in turns if more is not None]
        return delay.slower(max(known, default=0)) if len(known) == len(turns) else None

    def slow(self, delay: Delay) -> Iterator[tuple[str, Reader]]:
        """The connections that something is promised to, and that one portion in a turn is not enough for."""
        for client, reader in self.load.slow(delay):
            if any(self.records[topic].promise_ns is not None for topic in self.flows[client]):
                yield client, reader

    def crowded_link(self) -> str | None:
        """A link that cannot carry what was promised over it, in words."""
        return self.links.overloaded

    def longest_way_ns(self) -> int:
        """How long a message may be on its way to the broker."""
        if not self.links.is_limited:
            return self.setting.link_in.delay_ns
        return self.links.longest_way_ns

    def swap(self, after: Mapping[str, Record], rest: Rest) -> None:
        """Put these records in the place of those of the same names."""
        for record in after.values():
            if record.is_guarded:
                self.stage.check(record)
        after = self.links.settled(self.records, after)
        self.touched = frozenset(after)
        self.rest = rest
        self.known = {}
        for name, record in after.items():
            self.turn_over(self.records.get(name) or Record(name), record)

    def turn_over(self, before: Record, after: Record) -> None:
        """One record."""
        if before.streams is not after.streams or before.is_guarded != after.is_guarded:
            self.turn_flows(before, after)
        if is_another(before, after):
            self.stage.swap(before, after)
        self.promises += len(after.demands) - len(before.demands)
        self.records[after.name] = after
        if after.is_empty:
            del self.records[after.name]

    def turn_flows(self, before: Record, after: Record) -> None:
        """The flows of one record."""
        stays = before.is_guarded == after.is_guarded
        for client, stream in before.streams.items():
            other = after.streams.get(client)
            if other is None or not stays:
                self.load.drop(before, stream)
                self.forget(client, before.name)
            elif other is not stream:
                self.load.exchange(after, stream, other)
        for client, stream in after.streams.items():
            if client not in before.streams or not stays:
                self.load.put(after, stream)
                self.flows.setdefault(client, set()).add(after.name)

    def forget(self, client: str, topic: str) -> None:
        """A client does not publish on a topic any more; nothing is kept of who publishes nothing."""
        own = self.flows[client]
        own.remove(topic)
        if not own:
            del self.flows[client]


def is_another(before: Record, after: Record) -> bool:
    """Whether a topic differs in anything that a stage looks at: most demands ask for less than others."""
    same = before.allotted == after.allotted and before.streams is after.streams
    return not same or before.promise_ns != after.promise_ns
