"""What `twrr` and `smooth` have in common: a topic has cells, and a lane for each of its flows.

A change of a topic touches the flows that it is about, not all others on the topic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from operator import is_

from giusto.guarantee.blocking import Delay
from giusto.guarantee.model import Setting
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Lane
from giusto.guarantee.stages.shelved import Kind, Shelved
from giusto.guarantee.stages.stage import Response
from giusto.guarantee.stages.weights import check_weight, flow_lane, weight_of
from giusto.guarantee.stream import Stream


class Celled(Shelved[Kind]):
    """The guarded topics with their cells, and what was promised to each flow."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting

    def check(self, record: Record) -> None:
        """The weight."""
        check_weight(record)

    @abstractmethod
    def enter(self, record: Record) -> None:
        """A topic more, without its flows."""

    @abstractmethod
    def leave(self, record: Record) -> None:
        """A topic less; its flows have been taken out."""

    @abstractmethod
    def count(self, record: Record, cell_ns: int, lumps_ns: int) -> None:
        """Flows of a topic make its cell and its lumps longer by so much, or shorter."""

    def swap(self, before: Record, after: Record) -> None:
        """Another share moves all flows, another promise their dues, another flow itself."""
        stays = before.is_guarded and after.is_guarded and before.allotted == after.allotted
        if before.is_guarded:
            self.count_some(before, differing(before, after, stays), -1)
            if not stays:
                self.leave(before)
        if after.is_guarded:
            if not stays:
                self.enter(after)
            self.count_some(after, differing(after, before, stays), 1)
        self.swap_lanes(before, after)

    def count_some(self, record: Record, streams: Iterable[Stream], sign: int) -> None:
        """Flows that come or go, in the cells."""
        cell_ns = lumps_ns = 0
        for stream in streams:
            cell_ns += stream.quantum_ns
            lumps_ns += stream.lump_ns
        self.count(record, sign * cell_ns, sign * lumps_ns)

    def lanes(self, record: Record, other: Record) -> Iterator[tuple[int, Lane]]:
        """One for each flow."""
        weight = weight_of(record)
        stays = other.is_guarded and weight == weight_of(other)
        for stream in differing(record, other, stays, is_due_alike):
            yield stream.quanta, flow_lane(weight, 0, stream, self.setting)

    def response(self, record: Record, stream: Stream, delay: Delay) -> Response | None:
        """(T4) of one flow."""
        lane = flow_lane(weight_of(record), 0, stream, self.setting)
        return self.curve(self.kind(record)).response(lane, delay, stream.quanta, "T4")


def differing(
    record: Record, other: Record, stays: bool, alike: Callable[[Stream, Stream], bool] = is_
) -> Iterable[Stream]:
    """The flows of a record that another has not alike; all of them if the topic itself is another one."""
    if not stays:
        return record.streams.values()
    if record.streams is other.streams:
        return ()
    there = other.streams
    return [
        stream
        for client, stream in record.streams.items()
        if client not in there or not alike(stream, there[client])
    ]


def is_due_alike(one: Stream, other: Stream) -> bool:
    """Whether the messages of two flows come and are due at the same times."""
    if one is other:
        return True
    same = one.passed == other.passed and one.quanta == other.quanta and one.links == other.links
    return same and one.supply == other.supply
