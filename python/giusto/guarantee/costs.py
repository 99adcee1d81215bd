"""What the broker's own work costs at most, in nanoseconds: what every bound of a live bus rests on.

A message costs a *take* (its part of a read, decoding, queueing), a *step* of the input stage with a
*deliver* for each subscriber, and a *write* for each of them. Each is a straight line in the size of the
message. The figures come from a calibration; without one they are the defaults here, which are meant to be
too high.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """`fixed_ns` and so many picoseconds for each byte."""

    fixed_ns: int
    byte_ps: int = 0

    def ns(self, size_bytes: int) -> int:
        """The cost of a message of this size, rounded up."""
        return self.fixed_ns - (-self.byte_ps * size_bytes) // 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The cost of each piece of work, and where the figures come from.

    `frame` is one more of the smallest frames in the same read, `turn` a turn of the data thread that finds
    nothing, `call` the longest call of the control plane, `hop` the way of a message between a socket of the
    broker and the program at its other end, `stall` how long the machine takes the processor away now and
    then: no bound contains it unless it is asked to.

    `serve` and `serve_each` are a quantum as a whole, without and for each subscriber: less than the sum of
    its pieces, since what disturbs one rarely disturbs all. Without them the sum is taken.
    """

    take: Line = Line(6_000, 1_000)
    step: Line = Line(1_500, 0)
    deliver: Line = Line(400, 0)
    write: Line = Line(12_000, 1_000)
    frame_ns: int = 300
    turn_ns: int = 5_000
    call_ns: int = 200_000
    hop_ns: int = 100_000
    stall_ns: int = 5_000_000
    serve: Line | None = None
    serve_each: Line | None = None
    basis: str = "default costs"

    def take_ns(self, size_bytes: int) -> int:
        """Reading a message from its publisher."""
        return self.take.ns(size_bytes)

    def serve_ns(self, size_bytes: int, fanout: int) -> int:
        """T_q: the step of a message, and one delivery and write for each subscriber."""
        if self.serve is not None and self.serve_each is not None:
            return self.serve.ns(size_bytes) + fanout * self.serve_each.ns(size_bytes)
        each = self.deliver.ns(size_bytes) + self.write.ns(size_bytes)
        return self.step.ns(size_bytes) + fanout * each
