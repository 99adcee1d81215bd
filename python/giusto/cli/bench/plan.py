"""What one measurement is: how many messages of which size are due when, and what came of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from giusto.cli.histogram import Histogram, summary
from giusto.cli.pace import Pace, pace
from giusto.contract import duration_ns, show_ns
from giusto.errors import InvalidInput

AS_FAST_AS_POSSIBLE = "max"


@dataclass(frozen=True, slots=True)
class Plan:
    """An open loop: `pace` says when messages are due. The first `warm_up` messages do not count."""

    address: str
    topic: str
    size: int
    pace: Pace
    warm_up: int
    seconds: float
    batch: int = 1

    def text(self) -> str:
        """For the command line of the process that publishes."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Plan:
        """What `text` was made from."""
        fields = json.loads(text)
        return cls(**{**fields, "pace": Pace(**fields["pace"])})


@dataclass(frozen=True, slots=True)
class Sent:
    """What the publisher says at the end."""

    count: int
    first_ns: int
    last_ns: int
    late_ns: int

    @property
    def rate_hz(self) -> float:
        """Messages per second, from the first to the last."""
        return per_second(self.count, self.last_ns - self.first_ns)


@dataclass(slots=True)
class Received:
    """What the subscriber has seen, from the intended and from the actual time of sending."""

    intended: Histogram
    sent: Histogram
    count: int = 0
    first_ns: int = 0
    last_ns: int = 0

    @property
    def rate_hz(self) -> float:
        """Messages per second, from the first to the last."""
        return per_second(self.count, self.last_ns - self.first_ns)


def plan(address: str, topic: str, *, rate: str, duration: str, warm_up: str, size: int, batch: int) -> Plan:
    """The plan that the options of `giusto bench` mean."""
    if not 0 <= size <= 16_000_000:
        raise InvalidInput("--size", size, "0 to 16,000,000 bytes")
    if not 1 <= batch <= 65_536:
        raise InvalidInput("--batch", batch, "1 to 65,536 messages")
    seconds = duration_ns(duration, "--duration", least_ns=1_000_000) / 1e9
    extra = duration_ns(warm_up, "--warm-up") / 1e9
    if rate == AS_FAST_AS_POSSIBLE:
        return Plan(address, topic, size, Pace(None), 0, seconds + extra, batch)
    open_loop = pace(rate, None)
    hertz = open_loop.per * 1e9 / open_loop.period_ns
    count = max(1, round(hertz * (seconds + extra)))
    asked = Pace(count, open_loop.per, open_loop.period_ns)
    return Plan(address, topic, size, asked, min(round(hertz * extra), count - 1), seconds + extra, batch)


def per_second(count: int, span_ns: int) -> float:
    """A rate over the gaps between `count` messages; 0 if there is no gap."""
    return (count - 1) * 1e9 / span_ns if count > 1 and span_ns > 0 else 0.0


def report(plan: Plan, sent: Sent, received: Received) -> dict[str, Any]:
    """Everything that was measured, under the names that `--json` prints."""
    return {
        "address": plan.address,
        "size_bytes": plan.size,
        "sent": sent.count,
        "received": received.count,
        "lost": sent.count - received.count,
        "measured": received.intended.total,
        "sent_hz": round(sent.rate_hz, 1),
        "received_hz": round(received.rate_hz, 1),
        "received_bytes_hz": round(received.rate_hz * plan.size, 1),
        "publisher_late_ns": sent.late_ns,
        "latency_from_intended": summary(received.intended),
        "latency_from_sent": summary(received.sent),
    }


def show(fields: dict[str, Any]) -> list[str]:
    """The same for people."""
    intended, sent = fields["latency_from_intended"], fields["latency_from_sent"]
    rows = [f"  {name.removesuffix('_ns'):>7}  {show_time(intended[name]):>12}  {show_time(sent[name]):>12}" for name in intended]
    megabytes = fields["received_bytes_hz"] / 1e6
    return [
        f"sent      {fields['sent']:,} messages of {fields['size_bytes']} bytes, {fields['sent_hz']:,.0f}/s",
        f"received  {fields['received']:,}, {fields['received_hz']:,.0f}/s, {megabytes:,.1f} MB/s; lost {fields['lost']:,}",
        f"latency of {fields['measured']:,} messages",
        f"  {'':>7}  {'from due':>12}  {'from sent':>12}",
        *rows,
    ]


def show_time(nanoseconds: float) -> str:
    """A latency for people."""
    return show_ns(round(nanoseconds))
