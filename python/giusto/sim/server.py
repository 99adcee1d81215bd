"""One processor that serves topics in virtual time by an input policy: who waits how long.

The policy is the broker's own code. Times are integers in nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from giusto import _core
from giusto.errors import InvalidInput, Unknown
from giusto.guarantee.exact import nonnegative

FIRST_NS, LAST_NS = -(2**63), 2**63 - 1


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
        ticks = None
        if self.virtual_deadline is not None:
            ticks = math.floor(nonnegative("virtual_deadline", self.virtual_deadline) * _core.TICKS)
        return _core.Share(
            weight=self.weight,
            rate=self.rate,
            virtual_deadline=ticks,
            period_ns=self.period_ns,
            deadline_ns=self.deadline_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What one client publishes on one topic: when, and messages of which size and priority.

    Streams of the same client and topic are one flow: they share its queue, whose capacity they agree on.
    """

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
    flows, flow_of = _flows(_numbers("topics", [topic.name for topic in topics]), streams)
    sent = sorted((at_ns, n) for n, stream in enumerate(streams) for at_ns in _times_ns(n, stream))
    run = _core.serve(
        policy,
        shares=[topic.share for topic in topics],
        service_ns=[
            _whole(f"topics[{n}].service_ns", topic.service_ns, 1, LAST_NS) for n, topic in enumerate(topics)
        ],
        flows=flows,
        arrivals=[(at_ns, flow_of[n], streams[n].priority, streams[n].size_bytes) for at_ns, n in sent],
        fragment_bytes=_whole("fragment_bytes", fragment_bytes, 1, 2**32 - 1),
        service_first=service_first,
    )
    completions = [
        Completion(streams[n].topic, streams[n].client, at_ns, selected_ns, completed_ns)
        for arrival, selected_ns, completed_ns in run.completions
        for at_ns, n in (sent[arrival],)
    ]
    return Run(completions, len(run.overflow))


def _flows(
    topic_number: dict[str, int], streams: Sequence[Stream]
) -> tuple[list[tuple[int, int, int]], list[int]]:
    """(client, topic, capacity) of each flow, and the flow of each stream."""
    clients: dict[str, int] = {}
    numbers: dict[tuple[int, int], int] = {}
    flows: list[tuple[int, int, int]] = []
    flow_of: list[int] = []
    for n, stream in enumerate(streams):
        _check(n, stream)
        if stream.topic not in topic_number:
            raise Unknown("topic", stream.topic)
        client = clients.setdefault(stream.client, len(clients))
        flow = numbers.setdefault((client, topic_number[stream.topic]), len(numbers))
        if flow == len(flows):
            flows.append((client, topic_number[stream.topic], stream.capacity))
        elif flows[flow][2] != stream.capacity:
            expected = f"{flows[flow][2]}, as another stream of this client and topic has it"
            raise InvalidInput(f"streams[{n}].capacity", stream.capacity, expected)
        flow_of.append(flow)
    return flows, flow_of


def _check(n: int, stream: Stream) -> None:
    _whole(f"streams[{n}].size_bytes", stream.size_bytes, 0, _core.FRAME_LIMIT_BYTES)
    _whole(f"streams[{n}].priority", stream.priority, 0, 7)
    _whole(f"streams[{n}].capacity", stream.capacity, 1, 65_535)


def _times_ns(n: int, stream: Stream) -> list[int]:
    return [_whole(f"streams[{n}].times_ns", at_ns, FIRST_NS, LAST_NS) for at_ns in stream.times_ns]


def _whole(field: str, value: int, least: int, most: int) -> int:
    if not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(field, value, f"a whole number from {least} to {most}")
    return value


def _numbers(field: str, names: Iterable[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for name in names:
        if name in numbers:
            raise InvalidInput(field, name, "names that differ")
        numbers[name] = len(numbers)
    return numbers
