"""The tag scheduler of `fair` as a small exact reference: which message is served when.

It is not the engine (that is native and works in integers); it is what the bounds of `fair` speak about,
short enough to be read beside them. Slots, not messages, carry the tags of a topic: the next slot is taken
by the most urgent waiting message, and by the earliest among equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from giusto.errors import InvalidInput
from giusto.guarantee import exact
from giusto.guarantee.exact import Number


class Arrival(NamedTuple):
    """A message: when, on which topic, how urgent inside the topic (a larger number goes first)."""

    time: Number
    topic: int
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Served:
    """A message that was served: position in `arrivals`, slot tags, real time of start and end."""

    message: int
    topic: int
    start_tag: Fraction
    finish_tag: Fraction
    start: Fraction
    end: Fraction


class Topic:
    """The waiting messages of a topic and the tags of its next slot."""

    def __init__(self, rate: Fraction, deadline: Fraction) -> None:
        self.spacing = 1 / rate
        self.deadline = deadline
        self.next_tag: Fraction | None = None
        self.waiting: list[tuple[Fraction, int]] = []
        self.start_tag = Fraction(0)

    def tag(self, virtual: Fraction) -> None:
        """Give the slot at the head its start tag, chained to the slot before."""
        self.start_tag = virtual if self.next_tag is None else max(virtual, self.next_tag)
        self.next_tag = self.start_tag + self.spacing

    def take(self) -> int:
        """The most urgent message, and the earliest among equals."""
        return self.waiting.pop(self.waiting.index(min(self.waiting)))[1]

    def forget(self) -> None:
        """The server went idle."""
        self.next_tag = None

    @property
    def finish_tag(self) -> Fraction:
        """F of the slot at the head."""
        return self.start_tag + self.deadline


def order(
    rates: Sequence[Number],
    deadlines: Sequence[Number | None] | None,
    arrivals: Sequence[Arrival | tuple[Number, int] | tuple[Number, int, int]],
    service: Number,
    ties: Sequence[int] | None = None,
) -> list[Served]:
    """Serve all `arrivals`; among equal F the topic that comes first in `ties` (default: by index) wins.

    A message that arrives at the very end of a service is seen before the next choice.
    """
    spacing = exact.positives("rates", rates)
    given: Sequence[Number | None] = [None] * len(spacing) if deadlines is None else deadlines
    exact.require_length("deadlines", given, len(spacing))
    topics = [
        Topic(rate, 1 / rate if value is None else exact.nonnegative(f"deadlines[{i}]", value))
        for i, (rate, value) in enumerate(zip(spacing, given, strict=True))
    ]
    preference = list(range(len(topics))) if ties is None else exact.wholes("ties", ties, 0)
    if sorted(preference) != list(range(len(topics))):
        raise InvalidInput("ties", ties, "each topic once")
    return run(topics, checked(arrivals, len(topics)), exact.positive("service", service), preference)


def checked(
    arrivals: Sequence[Arrival | tuple[Number, int] | tuple[Number, int, int]], topics: int
) -> list[tuple[Fraction, int, int, Fraction]]:
    """(time, position, topic, priority) in order of time."""
    exact.length("arrivals", arrivals)
    result = []
    for i, item in enumerate(arrivals):
        if exact.length(f"arrivals[{i}]", item) not in (2, 3):
            raise InvalidInput(f"arrivals[{i}]", item, "time, topic and perhaps priority")
        given = Arrival(*item)
        time = exact.number(f"arrivals[{i}].time", given.time)
        topic = exact.index(f"arrivals[{i}].topic", given.topic, topics)
        result.append((time, i, topic, exact.number(f"arrivals[{i}].priority", given.priority)))
    return sorted(result)


def run(
    topics: Sequence[Topic],
    arrivals: Sequence[tuple[Fraction, int, int, Fraction]],
    service: Fraction,
    preference: Sequence[int],
) -> list[Served]:
    """The scheduler itself: admit what has arrived, forget the past if nothing waits, serve the least F."""
    served: list[Served] = []
    virtual, seen = Fraction(0), 0
    now = arrivals[0][0] if arrivals else Fraction(0)
    while len(served) < len(arrivals):
        seen = admit(topics, arrivals, seen, now, virtual)
        if not any(topic.waiting for topic in topics):
            virtual, now = Fraction(0), arrivals[seen][0]
            for topic in topics:
                topic.forget()
            seen = admit(topics, arrivals, seen, now, virtual)
        chosen = min((k for k in preference if topics[k].waiting), key=lambda k: topics[k].finish_tag)
        topic = topics[chosen]
        rank = topic.take()
        virtual = topic.finish_tag
        served.append(Served(arrivals[rank][1], chosen, topic.start_tag, virtual, now, now + service))
        if topic.waiting:
            topic.tag(virtual)
        now += service
    return served


def admit(
    topics: Sequence[Topic],
    arrivals: Sequence[tuple[Fraction, int, int, Fraction]],
    seen: int,
    now: Fraction,
    virtual: Fraction,
) -> int:
    """Queue what arrived up to `now`, all under the same virtual time; the new count of seen ones."""
    while seen < len(arrivals) and arrivals[seen][0] <= now:
        _, _, k, priority = arrivals[seen]
        topics[k].waiting.append((-priority, seen))
        if len(topics[k].waiting) == 1:
            topics[k].tag(virtual)
        seen += 1
    return seen
