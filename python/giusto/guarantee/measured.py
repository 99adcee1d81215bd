"""What a calibration consists of: plain values without behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from giusto.guarantee.costs import Costs
from giusto.guarantee.machine import Machine

READS = ("frame", "excess")
CALLS = ("status", "clients", "subscribe", "advertise", "drain")
KINDS = ("take", "step", "write", "serve", "filter", *READS, "turn", *CALLS, "hop")
"""All work that is measured: READS are reads of many frames, CALLS are calls of the control plane.

A `serve` is a whole quantum: the step and the writes to all subscribers. A `filter` is the step of a message
that one client wants by so many filters of one comparison each.
"""


@dataclass(frozen=True, slots=True, order=True)
class Work:
    """What was done: its kind, the size of the message, and the number of subscribers, filters or frames."""

    kind: str
    size_bytes: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one piece of work cost: `cost_ns` is the upper limit of the percentile, see `pooling`.

    It is not `certain` if there were too few samples for one, and the worst stands in.
    """

    work: Work
    samples: int
    median_ns: int
    cost_ns: int
    max_ns: int
    certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalls:
    """How late the machine let a thread run that wanted to, one sample for each millisecond of `seconds`.

    `hits` is how many of them hit the work that was measured; `max_ns` is over these too.
    """

    seconds: float
    samples: int
    p50_ns: int
    p99_ns: int
    p99_9_ns: int
    max_ns: int
    hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was measured, where and when, and the costs that cover it."""

    date: str
    seconds: float
    percentile: float
    confidence: float
    samples: int
    machine: Machine
    points: tuple[Point, ...]
    stalls: Stalls
    costs: Costs

    @property
    def uncertain(self) -> tuple[Point, ...]:
        """Points with too few samples for the confidence, where the worst one stands in."""
        return tuple(point for point in self.points if not point.certain)
