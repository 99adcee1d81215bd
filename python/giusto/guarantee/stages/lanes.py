"""A lane for each topic, as `fair` and `edf` have it: all flows of the topic together, in one queue.

What the others on the same topic send is what their policers let through; nobody can tell them apart from
here, so that all of it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from giusto.guarantee.fixed import ONE, of, parts
from giusto.guarantee.record import Record
from giusto.guarantee.stream import Stream


@dataclass(frozen=True, slots=True)
class Together:
    """The flows of a topic as one: burst and rate in parts of ONE messages, the longest of the rest.

    Of a run of quanta only the first message may be cut, so that the largest `lump_ns` counts once.
    `burst_ns` and `load` are the service that they bring, at once and in parts of the time.
    """

    burst: int
    rate: int
    quanta: int
    quantum_ns: int
    lump_ns: int
    links_ns: int
    burst_ns: int
    load: int

    @classmethod
    def of(cls, record: Record) -> Together | None:
        """None if nobody publishes."""
        if "together" not in record.made:
            record.made["together"] = cls.added(list(record.streams.values()))
        found: Together | None = record.made["together"]
        return found

    @classmethod
    def added(cls, streams: Sequence[Stream]) -> Together | None:
        """None if there are none."""
        if not streams:
            return None
        bursts = [parts(stream.passed, stream.supply.period_ns) for stream in streams]
        return cls(
            sum(bursts),
            sum(parts(stream.supply.count, stream.supply.period_ns) for stream in streams),
            max(stream.quanta for stream in streams),
            max(stream.quantum_ns for stream in streams),
            max(stream.lump_ns for stream in streams),
            max(stream.links_ns for stream in streams),
            sum(of(burst, stream.message_ns) for burst, stream in zip(bursts, streams, strict=True)),
            sum(stream.serve_load for stream in streams),
        )

    def arrival_ns(self, n: int) -> int:
        """((n-σ)/ρ)^+, rounded down."""
        return max(0, n * ONE - self.burst) // self.rate
