"""`fair`: (V1) with services of their real length, one function for all topics of one rate and deadline.

    t_c(j) = Σ_m ( 1 + ⌊r_m ( (j-1)/r + d + 2 ticks )⌋ ) s_m

over all guarded topics m, the own one included: there the bracket is j, or j+1 when d is 1/r, which is one
quantum more than needed and makes it one function for all. Tags are whole ticks: those of two topics can be
two ticks closer than the exact ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from giusto.errors import InvalidInput
from giusto.guarantee.blocking import Delay
from giusto.guarantee.fixed import ONE, ceil_div
from giusto.guarantee.model import Setting
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Lane
from giusto.guarantee.stages.lanes import Together
from giusto.guarantee.stages.shelved import Curve, Shelved
from giusto.guarantee.stages.stage import Response
from giusto.guarantee.stream import Stream

TICKS = 232_792_560_000_000
"""In one unit of virtual time, as in the core."""

RATE_MAX = 1 << 31
SPAN = 12
"""How many messages after the burst are looked at one by one; then the line of (V2) stands for the rest."""

ROUNDING_TICKS = 2


def rate_of(record: Record) -> int:
    """r, 1 if nothing is said."""
    rate = record.allotted.share.rate if record.allotted else None
    return 1 if rate is None else rate


def deadline_of(record: Record) -> int:
    """d in ticks, 1/r if nothing is said."""
    deadline = record.allotted.share.virtual_deadline if record.allotted else None
    return TICKS // rate_of(record) if deadline is None else deadline


class Virtual(Curve):
    """t_c of one rate and deadline, from the sum of services of every rate."""

    def __init__(self, rate: int, deadline: int, services: Counter[int], lumps_ns: int = 0) -> None:
        self.own = rate
        self.extent = (deadline + ROUNDING_TICKS) * rate
        self.services = services.items()
        self.floor_ns = lumps_ns + sum(services.values())
        self.cycle_ns = sum(other * ns for other, ns in self.services)

    def work_ns(self, j: int) -> int:
        """(V1)."""
        extent, unit = (j - 1) * TICKS + self.extent, self.own * TICKS
        return self.floor_ns + sum(other * extent // unit * ns for other, ns in self.services)

    def line_ns(self, j: int) -> int:
        """The same without rounding down."""
        extent = (j - 1) * TICKS + self.extent
        return self.floor_ns + ceil_div(self.cycle_ns * extent, self.own * TICKS)


class Fair(Shelved[tuple[int, int]]):
    """The sum of services by rate, and the promises by rate and deadline."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self.services: Counter[int] = Counter()
        self.topics: Counter[int] = Counter()
        self.lumps_ns = 0

    def check(self, record: Record) -> None:
        """As in the core."""
        rate, deadline = rate_of(record), deadline_of(record)
        if not isinstance(rate, int) or not 1 <= rate <= RATE_MAX:
            raise InvalidInput("share.rate", rate, f"a whole number from 1 to {RATE_MAX}")
        if not isinstance(deadline, int) or not 0 <= deadline <= TICKS // rate:
            raise InvalidInput("share.virtual_deadline", deadline, f"0 to 1/rate, {TICKS // rate} ticks")

    def kind(self, record: Record) -> tuple[int, int]:
        """Topics of one rate and deadline have one t_c."""
        return rate_of(record), deadline_of(record)

    def swap(self, before: Record, after: Record) -> None:
        """What goes is taken out before what comes."""
        if before.is_guarded:
            self.count(before, -1)
        if after.is_guarded:
            self.count(after, 1)
        self.swap_lanes(before, after)

    def count(self, record: Record, sign: int) -> None:
        """A topic more, or less."""
        together, rate = Together.of(record), rate_of(record)
        self.topics[rate] += sign
        self.services[rate] += sign * together.quantum_ns if together else 0
        self.lumps_ns += sign * together.lump_ns if together else 0
        if self.topics[rate] == 0:
            del self.topics[rate], self.services[rate]

    def lanes(self, record: Record, other: Record) -> Iterable[tuple[int, Lane]]:
        """One for the topic, if somebody publishes on it."""
        together = Together.of(record)
        if together is None or (other.is_guarded and are_due_alike(together, Together.of(other))):
            return []
        return [(together.quanta, self.lane(record, together))]

    def lane(self, record: Record, together: Together) -> Lane:
        """Of a topic."""
        first = together.burst // ONE
        due_ns = -together.links_ns
        return Lane("", record.name, first, first + SPAN, True, together.rate, due_ns, together.arrival_ns)

    def curve(self, kind: tuple[int, int]) -> Curve:
        """Of one rate and deadline."""
        return Virtual(*kind, self.services, self.lumps_ns)

    def response(self, record: Record, stream: Stream, delay: Delay) -> Response | None:
        """(V2) of the topic that the flow belongs to."""
        together = Together.of(record)
        if together is None:
            return None
        lane = self.lane(record, together)
        return self.curve(self.kind(record)).response(lane, delay, together.quanta, "V2")

    def topic_share(self, record: Record) -> float:
        """r_k / Σ r."""
        return rate_of(record) / sum(rate * topics for rate, topics in self.topics.items())

    def client_share(self, record: Record, stream: Stream) -> float:
        """What the flow itself brings: within a topic nobody has a part of his own."""
        return stream.serve_load / ONE


def are_due_alike(one: Together, other: Together | None) -> bool:
    """Whether the messages of two topics come and are due at the same times."""
    if other is None:
        return False
    comes = one.burst == other.burst and one.rate == other.rate
    return comes and one.quanta == other.quanta and one.links_ns == other.links_ns
