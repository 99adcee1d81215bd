"""One processor that serves topics in virtual time by an input policy: who waits how long.

The policy is the broker's own code. Times are integers in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from giusto import _core
from giusto.errors import InvalidInput, Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic and what it is allotted; a policy reads the fields that it knows.

    `weight` is for `twrr` and `smooth`; `rate` and `virtual_deadline` (at most 1/rate) for `fair`;
    `period_ns` and `deadline_ns` for `edf`. `service_ns` is how long one quantum of it takes.
    """

    name: str
    service_ns: int
    weight: int = 1
    rate: int = 1
    virtual_deadline: Fraction | None = None
    period_ns: int = 1_000_000
    deadline_ns: int = 1_000_000

    @property
    def share(self) -> _core.Share:
        """As the core takes it. A virtual deadline is rounded down to whole ticks."""
        ticks = None if self.virtual_deadline is None else int(self.virtual_deadline * _core.TICKS)
        return _core.Share(
            weight=self.weight,
            rate=self.rate,
            virtual_deadline=ticks,
            period_ns=self.period_ns,
            deadline_ns=self.deadline_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What one client publishes on one topic: when, and messages of which size and priority."""

    topic: str
    client: str
    times_ns: Sequence[int]
    size_bytes: int = 128
    priority: int = 0
    capacity: int = 65_535


class Completion(NamedTuple):
    """A message that was served to the end."""

    topic: str
    client: str
    arrived_ns: int
    selected_ns: int
    completed_ns: int

    @property
    def delay_ns(self) -> int:
        """From arrival to the end of service."""
        return self.completed_ns - self.arrived_ns


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, in the order of completion, and how many messages found their queue full."""

    completions: list[Completion]
    overflow: int

    def delays_ns(self, topic: str) -> list[int]:
        """Delays of one topic's messages."""
        return [done.delay_ns for done in self.completions if done.topic == topic]

    def order(self) -> list[str]:
        """Topics in the order in which messages were completed."""
        return [done.topic for done in self.completions]


def serve(
    policy: str,
    topics: Sequence[Topic],
    streams: Sequence[Stream],
    *,
    fragment_bytes: int = 65_536,
    service_first: bool = False,
) -> Run:
    """Serve `streams` by the input policy called `policy` until nothing waits.

    A message takes one quantum per started `fragment_bytes`. A message that arrives at the instant at
    which a quantum begins can still be chosen for it, unless `service_first`.
    """
    number = _numbers("topics", [topic.name for topic in topics])
    clients = {stream.client: None for stream in streams}
    client_number = {name: n for n, name in enumerate(clients)}
    for stream in streams:
        if stream.topic not in number:
            raise Unknown("topic", stream.topic)
    arrivals = sorted(
        (at_ns, flow, stream.priority, max(4, stream.size_bytes))
        for flow, stream in enumerate(streams)
        for at_ns in stream.times_ns
    )
    run = _core.serve(
        policy,
        shares=[topic.share for topic in topics],
        service_ns=[topic.service_ns for topic in topics],
        flows=[(client_number[s.client], number[s.topic], s.capacity) for s in streams],
        arrivals=arrivals,
        fragment_bytes=fragment_bytes,
        service_first=service_first,
    )
    completions = [
        Completion(streams[flow].topic, streams[flow].client, at_ns, selected_ns, completed_ns)
        for arrival, selected_ns, completed_ns in run.completions
        for at_ns, flow, _, _ in (arrivals[arrival],)
    ]
    return Run(completions, len(run.overflow))


def _numbers(field: str, names: Iterable[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for name in names:
        if name in numbers:
            raise InvalidInput(field, name, "names that differ")
        numbers[name] = len(numbers)
    return numbers
