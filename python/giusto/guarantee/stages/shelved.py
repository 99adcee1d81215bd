"""What `twrr`, `smooth` and `fair` have in common: lanes of one kind have one curve of completions.

A policy says which curve a kind has; promises are kept on shelves by kind and tested against the curve.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from giusto.guarantee.blocking import Delay
from giusto.guarantee.fixed import ONE
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Breach, Completion, Lane, Shelf
from giusto.guarantee.stages.stage import Response, Worst
from giusto.protocol import ShareTerms

Kind = TypeVar("Kind", bound=Hashable)
Placed = tuple[int, Lane]
"""A lane, after the quanta of its messages."""


class Curve(ABC):
    """t_c of one kind of lane: `own` quanta in every `cycle_ns` are sure."""

    own: int
    cycle_ns: int

    @abstractmethod
    def work_ns(self, n: int) -> int:
        """t_c(n), as work."""

    @abstractmethod
    def line_ns(self, n: int) -> int:
        """Never below it, and straight in n."""

    def completions(self, delay: Delay, quanta: int) -> tuple[Completion, Completion]:
        """R(n) of messages of so many quanta, and the line above it."""
        return (
            lambda n: delay.done_ns(self.work_ns(n * quanta)),
            lambda n: delay.line_ns(self.line_ns(n * quanta)),
        )

    def sure(self, delay: Delay, quanta: int) -> tuple[int, int]:
        """The rate that such messages are sure to be served at, as a fraction of parts of ONE."""
        left, whole = delay.pace.left
        return self.own * left * ONE, self.cycle_ns * quanta * whole

    def response(self, lane: Lane, delay: Delay, quanta: int, label: str) -> Response | None:
        """(T4) or (V2), None if the lane brings more than is sure."""
        sure, each = self.sure(delay, quanta)
        if lane.rate * each > sure:
            return None
        total_ns, n = lane.worst(*self.completions(delay, quanta))
        work_ns = self.work_ns if n <= lane.last else self.line_ns
        return Response(total_ns, work_ns(n * quanta), lane.arrival_ns(n), label)


class Shelved(ABC, Generic[Kind]):
    """The lanes of each topic in bundles by the quanta of a message, and the promises on shelves by kind."""

    is_common = False
    has_given_shares = True

    def __init__(self) -> None:
        self.bundles: dict[str, dict[int, Shelf]] = {}
        self.shelves: dict[tuple[Kind, int], Shelf] = {}

    @property
    def effort(self) -> int:
        """A little for each kind."""
        return len(self.shelves)

    def wanted(self, record: Record) -> ShareTerms | None:
        """Shares are given, not found."""
        return None

    @abstractmethod
    def kind(self, record: Record) -> Kind:
        """Of the lanes of a topic."""

    @abstractmethod
    def curve(self, kind: Kind) -> Curve:
        """As it is now."""

    @abstractmethod
    def lanes(self, record: Record, other: Record) -> Iterable[Placed]:
        """The lanes of a guarded topic that it has not in common with another, and the quanta of a message.

        Nothing is promised to them: they are due when they come.
        """

    def swap_lanes(self, before: Record, after: Record) -> None:
        """A topic is another one now. What a message costs makes no due another one."""
        gone = list(self.lanes(before, after)) if before.is_guarded else []
        come = list(self.lanes(after, before)) if after.is_guarded else []
        stays = before.is_guarded and after.is_guarded and before.promise_ns == after.promise_ns
        if stays and not gone and not come and self.kind(before) == self.kind(after):
            return
        self.take_down(before)
        self.bundle_up(after.name, gone, come)
        self.put_up(after)

    def take_down(self, record: Record) -> None:
        """A topic has its promise no longer."""
        if record.is_guarded and record.promise_ns is not None:
            for quanta, bundle in self.bundles.get(record.name, {}).items():
                place = self.kind(record), quanta
                self.shelves[place].unhang(bundle)
                if not self.shelves[place]:
                    del self.shelves[place]

    def put_up(self, record: Record) -> None:
        """A topic has a promise."""
        if record.is_guarded and record.promise_ns is not None:
            for quanta, bundle in self.bundles.get(record.name, {}).items():
                self.shelves.setdefault((self.kind(record), quanta), Shelf()).hang(bundle, record.promise_ns)

    def bundle_up(self, topic: str, gone: Sequence[Placed], come: Sequence[Placed]) -> None:
        """Lanes of a topic that go and come."""
        bundles = self.bundles.setdefault(topic, {})
        for quanta, lane in gone:
            bundles[quanta].remove(lane)
        for quanta, lane in come:
            bundles.setdefault(quanta, Shelf()).add(lane)
        for quanta in [quanta for quanta, bundle in bundles.items() if not bundle]:
            del bundles[quanta]
        if not bundles:
            del self.bundles[topic]

    def overloaded(self, delay: Delay) -> Breach | None:
        """ρF against what is sure, for the fastest lane of each kind."""
        found = (
            shelf.faster(*self.curve(kind).sure(delay, quanta))
            for (kind, quanta), shelf in self.shelves.items()
        )
        return next((breach for breach in found if breach is not None), None)

    def late(self, delay: Delay) -> Breach | None:
        """The most impatient lane of each kind, at each n."""
        found = (
            shelf.late(*self.curve(kind).completions(delay, quanta))
            for (kind, quanta), shelf in self.shelves.items()
        )
        return next((breach for breach in found if breach is not None), None)

    def worst(self, record: Record, delay: Delay) -> Worst | None:
        """From the bundles."""
        curve, found = self.curve(self.kind(record)), []
        for quanta, bundle in self.bundles.get(record.name, {}).items():
            if bundle.faster(*curve.sure(delay, quanta)) is not None:
                return None
            found.append(bundle.excess(*curve.completions(delay, quanta)))
        total_ns, owner = max(found)
        return Worst(total_ns, owner.client or largest(record))


def largest(record: Record) -> str:
    """The client with the longest links."""
    return max(record.streams, key=lambda client: record.streams[client].links_ns)
