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
# As fast as possible, looking at every latency would be what is measured.
SAMPLED = 16
# What an offer without a max_size allows.
SIZE_MAX = 1 << 20
BATCH_MAX = 65_536


@dataclass(frozen=True, slots=True)
class Plan:
    """An open loop: `pace` says when messages are due; latencies of the first `warm_up_ns` do not count.

    A pace without a period means as fast as possible, for so many seconds.
    """

    address: str
    topic: str
    size: int
    pace: Pace
    warm_up_ns: int
    seconds: float
    batch: int = 1
    spin: bool = False

    @property
    def stride(self) -> int:
        """Of so many messages the latency of one is looked at."""
        return 1 if self.pace.period_ns else SAMPLED

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


def plan(
    address: str, topic: str, *, rate: str, duration: str, warm_up: str, size: int, batch: int, spin: bool
) -> Plan:
    """The plan that the options of `giusto bench` mean."""
    if not 0 <= size <= SIZE_MAX:
        raise InvalidInput("--size", size, f"0 to {SIZE_MAX:,} bytes")
    if not 1 <= batch <= BATCH_MAX:
        raise InvalidInput("--batch", batch, f"1 to {BATCH_MAX:,} messages")
    extra_ns = duration_ns(warm_up, "--warm-up")
    seconds = extra_ns / 1e9 + duration_ns(duration, "--duration", least_ns=1_000_000) / 1e9
    if rate == AS_FAST_AS_POSSIBLE:
        return Plan(address, topic, size, Pace(None), extra_ns, seconds, batch, spin)
    if batch > 1:
        raise InvalidInput("--batch", batch, "--rate max beside it: at a rate every message is due by itself")
    asked = pace(rate, None)
    hertz = asked.per * 1e9 / asked.period_ns
    count = max(1, round(hertz * seconds))
    asked = Pace(count, asked.per, asked.period_ns)
    # The last message always counts, however slow the rate.
    extra_ns = min(extra_ns, (count - 1) * asked.period_ns // asked.per)
    return Plan(address, topic, size, asked, extra_ns, seconds, batch, spin)


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
    megabytes = f"{fields['received_bytes_hz'] / 1e6:,.1f} MB/s"
    return [
        f"sent      {fields['sent']:,} messages of {fields['size_bytes']} bytes, {fields['sent_hz']:,.0f}/s",
        f"received  {fields['received']:,}, {fields['received_hz']:,.0f}/s, {megabytes}",
        f"lost      {fields['lost']:,}",
        f"latency of {fields['measured']:,} messages",
        row("", "from due", "from sent"),
        *(
            row(name.removesuffix("_ns"), show_time(intended[name]), show_time(sent[name]))
            for name in intended
        ),
    ]


def row(name: str, first: str, second: str) -> str:
    """A line of the table of latencies."""
    return f"  {name:>7}  {first:>12}  {second:>12}"


def show_time(nanoseconds: float) -> str:
    """A latency for people."""
    return show_ns(round(nanoseconds))
