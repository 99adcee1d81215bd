"""What the broker's own work costs at most, in nanoseconds: what every bound of a live bus rests on.

A message costs a *take* (its part of a read, decoding, queueing), a *step* of the input stage with a
*deliver* for each subscriber, and a *write* for each of them. Each is a straight line in the size of the
message. The figures come from a calibration; without one they are the defaults here, which are meant to be
too high: above what a quiet virtual machine with two processors was measured to need, at p99.9.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

RECORD_NS = 100
"""What a record is charged with where a calibration was made without: about 15 ns, and room beside."""
_RECORDED = ("take", "step", "deliver", "serve", "serve_each")


@dataclass(frozen=True, slots=True)
class Line:
    """`fixed_ns` and so many picoseconds for each byte."""

    fixed_ns: int
    byte_ps: int = 0

    def ns(self, size_bytes: int) -> int:
        """The cost of a message of this size, rounded up."""
        return self.fixed_ns - (-self.byte_ps * size_bytes) // 1_000

    def plus(self, more_ns: int) -> Line:
        """So much more, whatever the size."""
        return replace(self, fixed_ns=self.fixed_ns + more_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The cost of each piece of work, and where the figures come from.

    `filter` is one comparison of a filter on the topic, `frame` one more of the smallest frames in the same
    read, `turn` a turn of the data thread that finds nothing, `call` the longest call of the control plane,
    `hop` the way of a message between a socket of the broker and the program at its other end, `stall` how
    long the machine takes the processor away now and then: no bound contains it unless it is asked to.
    `record` is what keeping a record costs beside the rest: nothing where records were kept in the measuring.

    `serve` and `serve_each` are a quantum as a whole, without and for each subscriber: less than the sum of
    its pieces, since what disturbs one rarely disturbs all. If they are None the sum is taken.
    """

    take: Line = Line(40_000, 1_000)
    step: Line = Line(5_000, 100)
    deliver: Line = Line(4_000)
    write: Line = Line(50_000, 1_000)
    filter_ns: int = 500
    frame_ns: int = 300
    turn_ns: int = 15_000
    call_ns: int = 400_000
    hop_ns: int = 150_000
    stall_ns: int = 5_000_000
    record_ns: int = 0
    serve: Line | None = Line(60_000)
    serve_each: Line | None = Line(20_000, 1_000)
    basis: str = "default costs"

    def with_records(self) -> Costs:
        """What it costs where a record is kept of each delivery, and of what is dropped before."""
        lines = {name: line for name in _RECORDED if (line := getattr(self, name)) is not None}
        return replace(self, **{name: line.plus(self.record_ns) for name, line in lines.items()})

    def take_ns(self, size_bytes: int) -> int:
        """Reading a message from its publisher."""
        return self.take.ns(size_bytes)

    def serve_ns(self, size_bytes: int, fanout: int, more: int = 0, comparisons: int = 0) -> int:
        """T_q: the step of a message, and one delivery and write for each client that gets it.

        `more` are the subscriptions that these clients have on its topic beside one each, `comparisons` those
        of all filters there.
        """
        beside_ns = more * self.deliver.ns(size_bytes) + comparisons * self.filter_ns
        if self.serve is not None and self.serve_each is not None:
            return self.serve.ns(size_bytes) + fanout * self.serve_each.ns(size_bytes) + beside_ns
        each = self.deliver.ns(size_bytes) + self.write.ns(size_bytes)
        return self.step.ns(size_bytes) + fanout * each + beside_ns
