"""One processor that serves topics in virtual time by an input policy: who waits how long.

The policy is the broker's own code. Times are integers in nanoseconds.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from giusto import _core
from giusto.errors import InvalidInput, Unknown
from giusto.guarantee.exact import Number, flag, number
from giusto.sim.topic import Topic

FIRST_NS, LAST_NS = -(2**63), 2**63 - 1

Item = TypeVar("Item", "Topic", "Stream")


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


class Refused(NamedTuple):
    """A message that found its queue full."""

    topic: str
    client: str
    arrived_ns: int


@dataclass(frozen=True, slots=True)
class Served:
    """What happened: what was served, in the order of completion, and what found its queue full."""

    topics: tuple[str, ...]
    completions: list[Completion]
    overflow: list[Refused]

    def delays_ns(self, topic: str) -> list[int]:
        """Delays of one topic's messages in the order of completion; `Unknown` if there is no such topic."""
        if topic not in self.topics:
            raise Unknown("topic", topic)
        return [done.delay_ns for done in self.completions if done.topic == topic]

    def worst_ns(self, topic: str) -> int | None:
        """The longest of them; None if no message was completed."""
        return max(self.delays_ns(topic), default=None)

    def percentile_ns(self, topic: str, percent: Number) -> int | None:
        """The least delay that so many percent (above 0, up to 100) do not exceed; None as above."""
        part = number("percent", percent) / 100
        if not 0 < part <= 1:
            raise InvalidInput("percent", percent, "a number above 0 and up to 100")
        delays_ns = sorted(self.delays_ns(topic))
        return delays_ns[math.ceil(part * len(delays_ns)) - 1] if delays_ns else None

    def order(self) -> list[str]:
        """Topics in the order in which messages were completed."""
        return [done.topic for done in self.completions]


def serve(
    policy: str,
    topics: Iterable[Topic],
    streams: Iterable[Stream],
    *,
    fragment_bytes: int = 65_536,
    service_first: bool = False,
) -> Served:
    """Serve `streams` by the input policy called `policy` until nothing waits.

    A message takes one quantum per started `fragment_bytes`. A message that arrives at the instant at
    which a quantum begins can still be chosen for it, unless `service_first`.
    """
    given, sources = _items("topics", topics, Topic), _items("streams", streams, Stream)
    numbers, shares = _numbers(given), _shares(given)
    flows, flow_of = _flows(numbers, sources)
    sent = sorted((at_ns, n) for n, source in enumerate(sources) for at_ns in _times_ns(n, source))
    try:
        run = _core.serve(
            _name("policy", policy),
            shares=shares,
            service_ns=[
                _whole(f"topics[{n}].service_ns", topic.service_ns, 1, LAST_NS)
                for n, topic in enumerate(given)
            ],
            flows=flows,
            arrivals=[(at_ns, flow_of[n], sources[n].priority, sources[n].size_bytes) for at_ns, n in sent],
            fragment_bytes=_whole("fragment_bytes", fragment_bytes, 1, 2**32 - 1),
            service_first=flag("service_first", service_first),
        )
    except InvalidInput as error:
        if error.field == "input":  # what the core calls it
            raise InvalidInput("policy", policy, error.expected) from None
        raise (_of_topic(_first_refused(policy, shares), error) if _is_of_share(error) else error) from None

    def origin(arrival: int) -> Refused:
        at_ns, n = sent[arrival]
        return Refused(sources[n].topic, sources[n].client, at_ns)

    completions = [
        Completion(*origin(arrival), selected_ns, completed_ns)
        for arrival, selected_ns, completed_ns in run.completions
    ]
    return Served(tuple(numbers), completions, [origin(arrival) for arrival in run.overflow])


def _items(field: str, values: Iterable[Item], kind: type[Item]) -> list[Item]:
    """A list of what may come from a generator."""
    try:
        items = list(values)
    except TypeError:
        raise InvalidInput(field, values, f"{kind.__name__} objects") from None
    for n, item in enumerate(items):
        if not isinstance(item, kind):
            raise InvalidInput(f"{field}[{n}]", item, f"a {kind.__name__}")
    return items


def _shares(topics: Sequence[Topic]) -> list[_core.Share]:
    """What each topic is allotted; an error says which topic it is about."""
    shares: list[_core.Share] = []
    for n, topic in enumerate(topics):
        try:
            shares.append(topic.share)
        except InvalidInput as error:
            raise _of_topic(n, error) from None
    return shares


def _first_refused(policy: str, shares: Sequence[_core.Share]) -> int:
    """The first topic whose share the policy does not take; it refuses every list that has this one."""

    def refused(n: int) -> bool:
        try:
            _core.serve(policy, shares=shares[: n + 1], service_ns=[1] * (n + 1), flows=[], arrivals=[])
        except InvalidInput:
            return True
        return False

    return bisect_left(range(len(shares)), True, key=refused)


def _is_of_share(error: InvalidInput) -> bool:
    return error.field in ("weight", "rate", "virtual_deadline", "period_ns", "deadline_ns")


def _of_topic(n: int, error: InvalidInput) -> InvalidInput:
    return InvalidInput(f"topics[{n}].{error.field}", error.value, error.expected)


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
    _name(f"streams[{n}].topic", stream.topic)
    _name(f"streams[{n}].client", stream.client)
    _whole(f"streams[{n}].size_bytes", stream.size_bytes, 0, _core.FRAME_LIMIT_BYTES)
    _whole(f"streams[{n}].priority", stream.priority, 0, 7)
    _whole(f"streams[{n}].capacity", stream.capacity, 1, 65_535)


def _times_ns(n: int, stream: Stream) -> list[int]:
    try:
        times_ns = list(stream.times_ns)
    except TypeError:
        raise InvalidInput(f"streams[{n}].times_ns", stream.times_ns, "instants in ns") from None
    return [
        _whole(f"streams[{n}].times_ns[{k}]", at_ns, FIRST_NS, LAST_NS) for k, at_ns in enumerate(times_ns)
    ]


def _whole(field: str, value: int, least: int, most: int) -> int:
    if not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(field, value, f"a whole number from {least} to {most}")
    return value


def _name(field: str, value: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(field, value, "a name")
    return value


def _numbers(topics: Sequence[Topic]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for n, topic in enumerate(topics):
        if _name(f"topics[{n}].name", topic.name) in numbers:
            raise InvalidInput(f"topics[{n}].name", topic.name, "names that differ")
        numbers[topic.name] = n
    return numbers
