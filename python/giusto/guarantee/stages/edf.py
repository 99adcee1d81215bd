"""`edf`: (E1) with reading taken off the time, on deadlines that follow from the promises.

A tag is the instant at which a message was read and the deadline of its topic. Let D be the time that a
promise leaves for the broker, and δ what is common to all messages: the wait in the socket before the tag,
and the flush after the quantum. The deadlines D are served in the same order as D - δ, so that the data
plane need not know δ, which changes with every contract. All promises hold if all D - δ can be kept:

    time( reading + Σ_{D_i <= t} ⌊σ_i + ρ_i (t - D_i)⌋ F_i s_i )  <=  t      for all t                  (E1)

Nothing is blocked by a later deadline: messages are read between turns, when no quantum is under way. What
has a deadline by t and comes in a busy period was read in it, so that its flow's burst and rate bound it; the
distance of tags is not needed for that, and is the least possible unless the topic's share sets it. Lines
instead of steps give (E2), which is looked at first. If h(t) is the left side, a topic has its response at
most D - min_{t >= D} (t - h(t)).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import accumulate
from typing import NamedTuple

from giusto.errors import InvalidInput, Overload
from giusto.guarantee.blocking import Delay
from giusto.guarantee.fixed import ONE, ceil_div, of
from giusto.guarantee.model import Setting
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Breach
from giusto.guarantee.stages.lanes import Together
from giusto.guarantee.stages.stage import Response, Worst
from giusto.guarantee.stream import Stream
from giusto.protocol import ShareTerms

LONGEST_NS = 10 * 365 * 86_400 * 1_000_000_000
"""Longest period or deadline, as in the core."""

NEAREST_TAGS_NS = 1
STEPS = 500
STEPS_LEAST = 10
EVALUATIONS = 100_000
"""Values of t that (E1) is looked at before the answer is no; fewer if there are many flows to evaluate."""


class Task(NamedTuple):
    """A topic by its deadline, which includes δ; `spread_ns` is by how much its own tags come later.

    `burst` is the service that it brings at once, `load` its part of the time, both in parts of ONE.
    """

    deadline_ns: int
    topic: str
    spread_ns: int
    burst: int
    load: int
    together: Together
    streams: tuple[Stream, ...]
    period_ns: int | None

    @property
    def is_too_far_apart(self) -> bool:
        """Whether its tags are set farther apart than its messages come."""
        together = self.together
        return self.period_ns is not None and together.rate * together.quanta * self.period_ns > ONE

    def demand_ns(self, span_ns: int) -> int:
        """Service of what was read within a span of time."""
        found = sum(stream.passed_ns(span_ns) for stream in self.streams)
        if self.period_ns is None:
            return found
        return min(found, (span_ns // self.period_ns + 1) * self.together.quantum_ns + self.together.lump_ns)


class Edf:
    """The tasks by deadline, with their promises; `load` is Σ ρFs.

    `broken` are topics whose deadline is later than their promises, `sparse` those with tags too far apart.
    """

    is_common = True
    has_given_shares = False

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.tasks: list[Task] = []
        self.broken: set[str] = set()
        self.sparse: set[str] = set()
        self.load = 0
        self.topics = 0
        self.known: tuple[Delay, list[int]] | None = None
        self.kept: tuple[Delay, bool] | None = None

    @property
    def effort(self) -> int:
        """A little for each topic, by (E1) more."""
        return ceil_div(len(self.tasks), 8)

    def check(self, record: Record) -> None:
        """As in the core."""
        share = record.allotted.share if record.allotted else ShareTerms()
        for name in ("period_ns", "deadline_ns"):
            value = getattr(share, name)
            if value is not None and (not isinstance(value, int) or not 1 <= value <= LONGEST_NS):
                raise InvalidInput(f"share.{name}", value, f"1 to {LONGEST_NS} ns")

    def wanted(self, record: Record) -> ShareTerms | None:
        """What the share sets; else the latest deadline that the promises allow."""
        share = record.allotted.share if record.allotted else ShareTerms()
        period_ns = NEAREST_TAGS_NS if share.period_ns is None else share.period_ns
        return ShareTerms(period_ns=period_ns, deadline_ns=self.deadline_ns(record))

    def deadline_ns(self, record: Record) -> int:
        """D: from the arrival at the socket to the flush."""
        share = record.allotted.share if record.allotted else ShareTerms()
        if share.deadline_ns is not None and record.promise_ns is not None:
            return share.deadline_ns
        left_ns = self.left_ns(record)
        return LONGEST_NS if left_ns is None else min(max(1, left_ns), LONGEST_NS)

    def left_ns(self, record: Record) -> int | None:
        """What the promises leave for it; None if there are none."""
        if record.promise_ns is None:
            return None
        together = Together.of(record)
        taken_ns = spread(together, record) + together.links_ns if together else 0
        return record.promise_ns - taken_ns

    def swap(self, before: Record, after: Record) -> None:
        """What goes is taken out before what comes."""
        if before.is_guarded:
            self.drop(before)
        if after.is_guarded:
            self.put(after)

    def put(self, record: Record) -> None:
        """One topic more; without a promise it is later than all others and in nobody's way."""
        self.known = self.kept = None
        self.topics += 1
        left_ns, deadline_ns = self.left_ns(record), self.deadline_ns(record)
        if left_ns is None or not record.streams:
            return
        task = task_of(record, deadline_ns)
        self.load += task.load
        insort(self.tasks, task)
        if deadline_ns > left_ns:
            self.broken.add(record.name)
        if task.is_too_far_apart:
            self.sparse.add(record.name)

    def drop(self, record: Record) -> None:
        """One topic less."""
        self.known = self.kept = None
        self.topics -= 1
        self.broken.discard(record.name)
        self.sparse.discard(record.name)
        if record.promise_ns is not None and record.streams:
            place = bisect_left(self.tasks, (self.deadline_ns(record), record.name))
            self.load -= self.tasks.pop(place).load

    def overloaded(self, delay: Delay) -> Breach | None:
        """Σ ρFs against what is left of the time, and tags no farther apart than messages."""
        if self.sparse:
            return Breach("", min(self.sparse))
        left, whole = delay.pace.left
        if not self.tasks or self.load * whole < left * ONE:
            return None
        return Breach("", max(self.tasks, key=lambda task: task.load).topic)

    def late(self, delay: Delay) -> Breach | None:
        """A promise shorter than the deadline; else (E2), and (E1) where that fails."""
        if self.broken:
            return Breach("", min(self.broken))
        if self.tasks and self.tasks[0].deadline_ns <= common_ns(delay):
            return Breach("", self.tasks[0].topic)
        spare = self.spare(delay)
        if not spare or min(spare) >= 0 or self.keeps(delay):
            return None
        return Breach("", self.tasks[next(i for i, ns in enumerate(spare) if ns < 0)].topic)

    def spare(self, delay: Delay) -> list[int]:
        """By how much each deadline is kept, with lines instead of steps: (E2)."""
        before_ns, found = common_ns(delay), []
        left, whole = delay.pace.left
        waited = delay.pace.waited
        constant, load = delay.reading_ns * ONE, 0
        for task in self.tasks:
            due_ns = task.deadline_ns - before_ns
            constant += task.burst - task.load * due_ns
            load += task.load
            # The line of the pace, written out: this loop is what a decision costs.
            work_ns = -(-(constant + load * due_ns) // ONE)
            found.append(due_ns + -(work_ns * whole + waited) // left)
        return found

    def keeps(self, delay: Delay) -> bool:
        """(E1); known until something changes."""
        if self.kept is None or self.kept[0] != delay:
            self.kept = delay, self.is_kept(delay)
        return self.kept[1]

    def is_kept(self, delay: Delay) -> bool:
        """(E1), from late to early: where h(t) <= t it holds from h(t) to t (Zhang and Burns 2009)."""
        before_ns = common_ns(delay)
        first_ns = self.tasks[0].deadline_ns - before_ns
        t = self.horizon_ns(delay)
        flows = sum(len(task.streams) for task in self.tasks)
        for _ in range(min(STEPS, max(STEPS_LEAST, EVALUATIONS // flows))):
            demand_ns = sum(
                task.demand_ns(t - task.deadline_ns + before_ns)
                for task in self.tasks
                if task.deadline_ns - before_ns <= t
            )
            needed_ns = delay.pace.time_ns(delay.reading_ns + demand_ns)
            if needed_ns > t:
                return False
            t = min(needed_ns, t - 1)
            if t < first_ns:
                return True
        return False

    def horizon_ns(self, delay: Delay) -> int:
        """From here on the line of all demand stays below t."""
        before_ns = common_ns(delay)
        dues = [(task, task.deadline_ns - before_ns) for task in self.tasks]
        constant = sum(task.burst - task.load * due for task, due in dues)
        base_ns = delay.pace.line_ns(delay.reading_ns + max(0, ceil_div(constant, ONE)))
        left, whole = delay.pace.left
        return max(dues[-1][1], ceil_div(base_ns * left * ONE, left * ONE - whole * self.load))

    def response(self, record: Record, stream: Stream, delay: Delay) -> Response | None:
        """D - min (t - h(t)), by (E2); D if only (E1) holds."""
        served_ns = self.served_ns(record, delay)
        if served_ns is None:
            return None
        total_ns = max(served_ns, common_ns(delay) + stream.serve_ns) + self.spread_ns(record)
        return Response(total_ns, total_ns - common_ns(delay), 0, "E1")

    def worst(self, record: Record, delay: Delay) -> Worst | None:
        """As `response`: what differs is the last quantum, and the links."""
        served_ns = self.served_ns(record, delay)
        if served_ns is None:
            return None
        spread_ns, least_ns = self.spread_ns(record), common_ns(delay)

        def total_ns(stream: Stream) -> int:
            return max(served_ns, least_ns + stream.serve_ns) + spread_ns + stream.links_ns

        return max(Worst(total_ns(stream), client) for client, stream in record.streams.items())

    def served_ns(self, record: Record, delay: Delay) -> int | None:
        """From the arrival of a message of a topic to its flush, tags apart; None if it has no bound."""
        if record.promise_ns is None or self.overloaded(delay) is not None:
            return None
        deadline_ns = self.deadline_ns(record)
        spare_ns = self.spare_from(delay)[bisect_left(self.tasks, (deadline_ns, record.name))]
        if spare_ns < 0 and deadline_ns > common_ns(delay) and self.keeps(delay):
            spare_ns = 0
        return deadline_ns - spare_ns

    def spread_ns(self, record: Record) -> int:
        """By how much the tags of a topic come later than its messages."""
        together = Together.of(record)
        return spread(together, record) if together else 0

    def spare_from(self, delay: Delay) -> list[int]:
        """The least that is spare from each deadline on; known until something changes."""
        if self.known is None or self.known[0] != delay:
            least = list(accumulate(reversed(self.spare(delay)), min))
            self.known = delay, least[::-1]
        return self.known[1]

    def topic_share(self, record: Record) -> float:
        """Topics have no part of their own: one of them all."""
        return 1 / self.topics

    def client_share(self, record: Record, stream: Stream) -> float:
        """What the flow itself brings."""
        return stream.serve_load / ONE


def common_ns(delay: Delay) -> int:
    """δ."""
    return delay.unread_ns + delay.exit_ns


def task_of(record: Record, deadline_ns: int) -> Task:
    """A topic that somebody publishes."""
    together = Together.of(record)
    if together is None:
        raise Overload(f"nobody publishes on {record.name}: it has no demand")
    streams = tuple(record.streams.values())
    period_ns = record.allotted.share.period_ns if record.allotted else None
    return Task(
        deadline_ns,
        record.name,
        spread(together, record),
        together.burst_ns * ONE,
        together.load,
        together,
        streams,
        period_ns,
    )


def spread(together: Together, record: Record) -> int:
    """(σF-1)T: how much later than its arrival the last tag of a burst is."""
    period_ns = record.allotted.share.period_ns if record.allotted else None
    slots = together.burst * together.quanta - ONE
    return of(NEAREST_TAGS_NS if period_ns is None else period_ns, max(0, slots))
