"""What delays a guarded message before, beside and after its cells: the rest of the bus, reading, the turn.

Let a message come to its socket at a, in a turn of the data thread that does not read it any more. Either a
slice of the rest has just begun, which happens only when nothing guarded waits and no urgent socket is
ready: it lasts `slice_ns` and the action that is under way then. Or the turn has up to S guarded quanta
before it, and no slice follows, because the socket is ready when it ends. So the larger of the two comes
before the next read, not both. From then on no slice begins until the message has left. Its own quantum is
in a turn whose S-1 other quanta, and names that clients have to be told, may come between it and its write.

All that is read in between comes from flows that are policed, or from a client that has just broken its
offer, once in 100 ms at most, or from the few other frames that a client may send in that time. What lies in
the sockets at a has come within Λ before, the longest turn: a slice, or S quanta and what a turn of that
length lets in. So reading takes b_r + U_r·(t + Λ) of a time t.

A connection is read by portions. If its burst and what comes within a turn do not fit into one portion, it
takes K more turns to read, each with its S quanta.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from giusto.guarantee.costs import Costs
from giusto.guarantee.fixed import ONE, ceil_div, of
from giusto.guarantee.model import Rest, Setting
from giusto.guarantee.pace import Pace
from giusto.guarantee.stream import READ_BYTES, Stream

PORTION_MIN_BYTES = 1_024
FLUSH_BYTES = 65_536
DATAGRAM_BYTES = 65_507
"""The longest one: it is taken at once."""
SMALLEST_FRAME_BYTES = 57
PROBATION_NS = 100_000_000
OTHERS = 4
OTHERS_BYTES_MAX = 1_024
OTHER_BYTES_MIN = 128
"""A client may send a fourth of its portion beside its messages, and each frame counts that much at least."""
NAMES_BYTES = 4_096
"""Names of topics and sources that a turn writes before guarded messages, to all clients together."""
READY_FEW = 64
"""Clients that have got something, beside those of the last step, when the rest finds out who they are."""


def action_ns(setting: Setting, rest: Rest) -> int:
    """The longest thing that the rest does without a look at the clock."""
    costs = setting.costs
    return max(
        costs.call_ns,
        flood_ns(costs, DATAGRAM_BYTES if setting.datagrams else READ_BYTES),
        costs.take.ns(rest.size_bytes),
        costs.step.ns(rest.size_bytes)
        + rest.fanout * costs.deliver.ns(rest.size_bytes)
        + rest.comparisons * costs.filter_ns,
        (READY_FEW + rest.fanout) * costs.deliver.fixed_ns,
        costs.write.ns(FLUSH_BYTES + rest.size_bytes),
    )


def slice_ns(setting: Setting, rest: Rest) -> int:
    """b: the rest, once."""
    return setting.slice_ns + action_ns(setting, rest) + setting.costs.turn_ns


def flood_ns(costs: Costs, size_bytes: int) -> int:
    """Reading so many bytes of the smallest frames."""
    return costs.take.fixed_ns + ceil_div(size_bytes, SMALLEST_FRAME_BYTES) * costs.frame_ns


def others_ns(costs: Costs, portion_bytes: int) -> int:
    """Reading what a client may send beside its messages in 100 ms, each frame for itself."""
    size_bytes = min(portion_bytes // OTHERS, OTHERS_BYTES_MAX)
    frames = size_bytes // OTHER_BYTES_MIN
    return costs.take.ns(size_bytes) + (frames - 1) * costs.take.fixed_ns + frames * costs.frame_ns


@dataclass(frozen=True, slots=True)
class Reader:
    """All that one client sends, as far as its socket is concerned."""

    portion: int = 0
    burst: int = 0
    rate: int = 0

    def plus(self, stream: Stream, sign: int = 1) -> Reader:
        """With one flow more, or less."""
        share = (stream.burst_max + 1) * stream.frame_bytes
        return Reader(
            self.portion + sign * share,
            self.burst + sign * stream.unread_bytes,
            self.rate + sign * stream.byte_rate,
        )

    @property
    def portion_bytes(self) -> int:
        """What a turn reads of it."""
        return min(max(self.portion, PORTION_MIN_BYTES), READ_BYTES)

    @property
    def patience_ns(self) -> int:
        """The longest turn that one portion keeps up with; below 0 if the burst alone is longer."""
        return (self.portion_bytes - self.burst) * ONE // self.rate

    def more_turns(self, turn_ns: int) -> int | None:
        """K, None if it is never read to the end."""
        arriving = of(turn_ns, self.rate)
        if arriving > self.portion_bytes:
            return None
        return ceil_div(self.burst + arriving, self.portion_bytes) - 1


@dataclass(frozen=True, slots=True)
class Delay:
    """What every message waits for whatever its topic is, and how long work takes.

    `entry_ns` until it is read, `exit_ns` from its quantum to its flush, `reading_ns` what is read meanwhile
    at once, `round_ns` the quanta and names of a turn, `turn_ns` the longest time from one read of a
    socket to the next.
    """

    entry_ns: int
    exit_ns: int
    reading_ns: int
    stall_ns: int
    round_ns: int
    turn_ns: int
    pace: Pace

    @property
    def before_ns(self) -> int:
        """All that comes before the cells, as work."""
        return self.entry_ns + self.reading_ns + self.stall_ns

    @property
    def unread_ns(self) -> int:
        """How long a message may lie in its socket."""
        return self.pace.time_ns(self.before_ns)

    def done_ns(self, work_ns: int) -> int:
        """From the socket to the flush, with so much service; after its own quantum nothing is read."""
        return self.pace.time_ns(self.before_ns + work_ns) + self.exit_ns

    def line_ns(self, work_ns: int) -> int:
        """Never below `done_ns`, and straight in the work."""
        return self.pace.line_ns(self.before_ns + work_ns) + self.exit_ns

    def slower(self, turns: int) -> Delay:
        """For a connection that takes so many more turns to read."""
        return replace(self, entry_ns=self.entry_ns + turns * self.round_ns) if turns else self


def delay(setting: Setting, rest: Rest, longest_ns: int, burst_ns: int, load: int) -> Delay | None:
    """From the longest quantum, and burst and load of reading; None if it never ends."""
    batch_ns = setting.turn_steps * longest_ns + setting.costs.write.ns(NAMES_BYTES)
    blocked_ns = slice_ns(setting, rest)
    pace = pace_of(setting, load, longest_ns)
    if pace is None:
        return None
    entry_ns = max(blocked_ns, batch_ns)
    turn_ns = pace.time_ns(entry_ns + burst_ns)
    if not pace.period_ns:
        turn_ns = max(blocked_ns, pace.time_ns(batch_ns + burst_ns))
    return Delay(
        entry_ns=entry_ns,
        exit_ns=batch_ns - longest_ns,
        reading_ns=burst_ns + of(turn_ns, load),
        stall_ns=setting.costs.stall_ns if setting.include_stall else 0,
        round_ns=batch_ns,
        turn_ns=turn_ns,
        pace=pace,
    )


def pace_of(setting: Setting, load: int, longest_ns: int) -> Pace | None:
    """How fast work is done; None if reading takes all of the time.

    A turn that begins within the budget is finished. If it ends beyond the start of the next period, that
    one is served until its own budget is over: so the thread works in every window, at least.
    """
    if load >= ONE:
        return None
    pace = Pace(load)
    if setting.budget_ns:
        pace = Pace(load, setting.period_ns, max(0, setting.budget_ns - longest_ns))
    return pace if pace.left[0] > 0 else None
