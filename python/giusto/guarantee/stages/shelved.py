"""What `twrr`, `smooth` and `fair` have in common: lanes of one kind have one curve of completions.

A policy says which curve a kind has; promises are kept on shelves by kind and tested against the curve.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from giusto.guarantee.blocking import Delay
from giusto.guarantee.fixed import ONE
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Breach, Completion, Lane, Shelf
from giusto.guarantee.stages.stage import Response
from giusto.protocol import ShareTerms

Kind = TypeVar("Kind", bound=Hashable)


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
    """Promises by the kind of lane and the quanta of a message."""

    is_common = False
    has_given_shares = True

    def __init__(self) -> None:
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
    def lanes(self, record: Record, promise_ns: int) -> Iterable[tuple[int, Lane]]:
        """The lanes of a topic if so much were promised, with the quanta of their messages."""

    def keep(self, kind: Kind, quanta: int, lane: Lane) -> None:
        """A promise more."""
        self.shelves.setdefault((kind, quanta), Shelf()).add(lane)

    def forget(self, kind: Kind, quanta: int, lane: Lane) -> None:
        """A promise less."""
        shelf = self.shelves[kind, quanta]
        shelf.remove(lane)
        if not shelf:
            del self.shelves[kind, quanta]

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

    def needed_ns(self, records: Iterable[Record], delay: Delay) -> int | None:
        """The least promise that holds for all flows of these topics; None if nobody publishes on them."""
        shelves: dict[tuple[Kind, int], Shelf] = {}
        for record in records:
            for quanta, lane in self.lanes(record, 0):
                shelves.setdefault((self.kind(record), quanta), Shelf()).add(lane)
        return max(
            (
                shelf.excess_ns(*self.curve(kind).completions(delay, quanta))
                for (kind, quanta), shelf in shelves.items()
            ),
            default=None,
        )
