"""How a subscription has been served: per topic, delays, rate and losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from giusto.contract import show_ns

Row = tuple[str, int, int, int, int, int, int, int, int, int, int, int]
"""Of the native session: topic, came, bytes, lost, dropped, late, span_ns, then delays up to max_ns."""


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
    """One topic of one subscription over a span of time.

    `messages` were handed over or wait to be, `dropped` ones came to a full inbox. Bytes, rate and delays are
    of both; delays are from sent to received, within 1 %.
    """

    topic: str
    messages: int
    bytes: int
    lost: int
    dropped: int
    late: int
    rate_hz: float
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int

    def __str__(self) -> str:
        said = [f"{self.messages} {'message' if self.messages == 1 else 'messages'}"]
        if self.rate_hz:
            said.append(f"{self.rate_hz:.1f}/s")
        if self.messages or self.dropped:
            delays = {"p50": self.p50_ns, "p99": self.p99_ns, "max": self.max_ns}
            said += [f"{name} {show_ns(delay_ns)}" for name, delay_ns in delays.items()]
        said += [f"{self.lost} lost", f"{self.dropped} dropped", f"{self.late} late"]
        return f"{self.topic}: {', '.join(said)}"


@dataclass(frozen=True, slots=True)
class Report:
    """All topics of one subscription."""

    pattern: str
    topics: tuple[TopicReport, ...]

    @property
    def messages(self) -> int:
        """Messages that were handed over, or wait to be."""
        return sum(topic.messages for topic in self.topics)

    @property
    def lost(self) -> int:
        """Messages that never came, from gaps in the sequences."""
        return sum(topic.lost for topic in self.topics)

    @property
    def dropped(self) -> int:
        """Messages that came to a full inbox, or left it for another one."""
        return sum(topic.dropped for topic in self.topics)

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
        return "\n".join(map(self._line, self.topics)) or f"{self.pattern}: no messages"

    def _line(self, one: TopicReport) -> str:
        """A topic, with the pattern in front if that is another name."""
        return str(one) if one.topic == self.pattern else f"{self.pattern}: {one}"


def report(pattern: str, rows: Iterable[Row], span_ns: int | None = None) -> Report:
    """The report of native figures. The rate is over `span_ns`, or over each topic's own span."""
    topics = [_topic(row, span_ns) for row in rows]
    return Report(pattern, tuple(sorted(topics, key=lambda one: one.topic)))


def _topic(row: Row, period_ns: int | None) -> TopicReport:
    topic, came, size, lost, dropped, late, span_ns, *delays = row
    intervals = came - 1 if period_ns is None else came
    over_ns = span_ns if period_ns is None else period_ns
    rate_hz = intervals * 1e9 / over_ns if over_ns > 0 else 0.0
    # A large message makes more than one leave, which may have come in an earlier period.
    return TopicReport(topic, max(0, came - dropped), size, lost, dropped, late, rate_hz, *delays)
