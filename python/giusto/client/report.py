"""How a subscription has been served: per topic, delays, rate and losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from giusto.contract import show_ns

Row = tuple[str, int, int, int, int, int, int, int, int, int, int]


class Periods:
    """When the next report is due: once per period, and once for all periods that nobody asked in."""

    def __init__(self, every_ns: int, now_ns: int) -> None:
        self.every_ns = every_ns
        self.next_ns = now_ns + every_ns

    def pass_by(self, now_ns: int) -> None:
        """A report is made now."""
        self.next_ns += (max(0, now_ns - self.next_ns) // self.every_ns + 1) * self.every_ns


@dataclass(frozen=True, slots=True)
class TopicReport:
    """One topic of one subscription over a span of time. Delays are from sent to received, within 1 %."""

    topic: str
    messages: int
    bytes: int
    lost: int
    late: int
    rate_hz: float
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int

    def __str__(self) -> str:
        delays = f"p50 {show_ns(self.p50_ns)}, p99 {show_ns(self.p99_ns)}, max {show_ns(self.max_ns)}"
        return (
            f"{self.topic}: {self.messages} messages, {self.rate_hz:.1f}/s, {delays}, "
            f"{self.lost} lost, {self.late} late"
        )


@dataclass(frozen=True, slots=True)
class Report:
    """All topics of one subscription."""

    pattern: str
    topics: tuple[TopicReport, ...]

    @property
    def messages(self) -> int:
        """Messages received."""
        return sum(topic.messages for topic in self.topics)

    @property
    def lost(self) -> int:
        """Messages that never came, from gaps in the sequences."""
        return sum(topic.lost for topic in self.topics)

    @property
    def late(self) -> int:
        """Messages later than the need allows."""
        return sum(topic.late for topic in self.topics)

    def __iter__(self) -> Iterator[TopicReport]:
        return iter(self.topics)

    def __getitem__(self, topic: str) -> TopicReport:
        for one in self.topics:
            if one.topic == topic:
                return one
        raise KeyError(topic)

    def __str__(self) -> str:
        return "\n".join(map(str, self.topics)) or f"{self.pattern}: no messages"


def report(pattern: str, rows: Iterable[Row], span_ns: int | None = None) -> Report:
    """The report of native figures. The rate is over `span_ns`, or over each topic's own span."""
    topics = [_topic(row, span_ns) for row in rows]
    return Report(pattern, tuple(sorted(topics, key=lambda one: one.topic)))


def _topic(row: Row, period_ns: int | None) -> TopicReport:
    topic, messages, size, lost, late, span_ns, *delays = row
    intervals = messages - 1 if period_ns is None else messages
    over_ns = span_ns if period_ns is None else period_ns
    rate_hz = intervals * 1e9 / over_ns if over_ns > 0 else 0.0
    return TopicReport(topic, messages, size, lost, late, rate_hz, *delays)
