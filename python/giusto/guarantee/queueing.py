"""How long a frame waits at an egress port with a few levels of priority, each of them first in, first out.

A frame that arrives s after the start of a busy period of its level starts when everything before it is
sent: one frame of a lower level that had just begun (b), what its own level has received by then, and what
the higher levels receive until it starts; afterwards it cannot be preempted. With burst-and-rate traffic
this wait is longest at s = 0, which gives the straight formula (N1). If the input links are known, traffic
also cannot arrive faster than they carry it; the wait is then concave in s, and its maximum lies at a
corner of the arrival curves (N2).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from giusto.errors import Overload
from giusto.guarantee import exact
from giusto.guarantee.curve import Arrivals
from giusto.guarantee.exact import Number
from giusto.guarantee.flow import Flow


def require_load(flow: Flow, higher: Sequence[Flow], same: Sequence[Flow]) -> None:
    """Flows they are, and Σ U <= 1."""
    exact.require_kind("flow", flow, Flow)
    exact.require_kinds("higher", higher, Flow)
    exact.require_kinds("same", same, Flow)
    load = sum((other.load for other in (flow, *higher, *same)), Fraction(0))
    if load > 1:
        raise Overload(f"load {load} of this level and those above is over 1: no bound exists")


def queueing(flow: Flow, higher: Sequence[Flow], same: Sequence[Flow], blocking_ns: Number) -> Fraction:
    """(N1): from the arrival of a frame of `flow` (last bit) to the start of its transmission.

    `same` are the other flows of its level; `blocking_ns` is the longest frame of any lower level, best
    effort included (1538 bytes at 1 Gb/s: 12304 ns). Raises `Overload` above a load of 1.
    """
    require_load(flow, higher, same)
    total = exact.nonnegative("blocking_ns", blocking_ns) - flow.shortest_frame_ns
    total += sum(other.interference_ns for other in higher)
    total += sum(other.burst_ns for other in (flow, *same))
    return total / (1 - sum(other.load for other in higher))


def message_queueing(
    flow: Flow, higher: Sequence[Flow], same: Sequence[Flow], blocking_ns: Number
) -> Fraction:
    """The quantity of S3 (5): queueing of the whole message beyond its own wire time."""
    return queueing(flow, higher, same, blocking_ns) + flow.shortest_frame_ns - flow.wire_ns


def refined_queueing(
    flow: Flow, higher: Sequence[Flow], same: Sequence[Flow], blocking_ns: Number
) -> Fraction:
    """(N2): as (N1), with the arrivals of the own level capped by their input links; trust is not used.

    Never above (N1) for policed flows; equal to it when no link is known. Links of the higher levels make no
    difference: as long as one of them is busy it brings as much as the port can send, so the frame starts
    only after all of them have fallen back to burst and rate.
    """
    require_load(flow, higher, same)
    own = Arrivals([flow, *same])
    fixed = exact.nonnegative("blocking_ns", blocking_ns) - flow.shortest_frame_ns
    fixed += sum(other.burst_ns for other in higher)
    left = 1 - sum(other.load for other in higher)
    return max((fixed + own.at(s)) / left - s for s in own.corners())
