"""What a topic asks of the input stage, whatever the policy: lanes, each with a line to stay below.

A promise holds exactly when for every n the input stage completes the n-th message after the start of a
backlog with at most `limit(n)` of work: what the promise and the arrival of the message allow, less all
that the shares do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple


class Lane(NamedTuple):
    """A queue of the input stage, whose messages have `fragments` quanta each.

    The n-th message of a backlog comes (n·period - lag)/count after the first; `budget_ns` later it must be
    done. Of that time the part `left`/`whole` is for serving, and `less_ns` of it goes into other work.
    """

    count: int  # type: ignore[assignment]  # not the method of tuples
    period_ns: int
    lag: int
    fragments: int
    budget_ns: int
    left: int = 1
    whole: int = 1
    less_ns: int = 0

    @property
    def first(self) -> int:
        """Messages before the ⌊σ⌋-th arrive together with it and leave before it."""
        return max(1, self.lag // self.period_ns)

    @property
    def slope(self) -> Fraction:
        """What every further message adds to the limit."""
        return Fraction(self.period_ns * self.left, self.count * self.whole)

    @property
    def pitch(self) -> int:
        """What every further quantum adds to the limit, rounded down."""
        return self.period_ns * self.left // (self.count * self.whole * self.fragments)

    def outruns(self, turn_ns: int, quanta: int) -> bool:
        """Whether it brings more than so many quanta in so much work."""
        asked = turn_ns * self.fragments * self.count * self.whole
        return asked > self.period_ns * self.left * quanta

    def limit(self, n: int) -> int:
        """The most work until message n is complete."""
        arrival_ns = max(0, n * self.period_ns - self.lag) // self.count
        return (self.budget_ns + arrival_ns) * self.left // self.whole - self.less_ns


@dataclass(frozen=True, slots=True)
class Seat:
    """A guarded topic: what one cell or message of it costs, its lanes, and its share if that is given."""

    topic: str
    cost_ns: int
    lanes: tuple[Lane, ...]
    fixed: int | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """No assignment: a proof that there is none, or only that none was found.

    `why` is the word for it, and `topic` the one that stands against it, if it is one. `bound_ns` is what it
    would take, if that is known.
    """

    proved: bool
    sentence: str
    topic: str = ""
    why: str = "latency"
    bound_ns: int | None = None


def sharpest(lanes: Iterable[Lane]) -> tuple[Lane, ...]:
    """The lanes without those that another one implies: the same but for the budget."""
    kept: dict[Lane, Lane] = {}
    for lane in lanes:
        alike = lane._replace(budget_ns=0)
        if alike not in kept or lane.budget_ns < kept[alike].budget_ns:
            kept[alike] = lane
    return tuple(kept.values())


def part_needed(lane: Lane, ahead: int = 0) -> Fraction | None:
    """The least part x of the quanta per nanosecond with which the lane can hold; None if none is enough.

    Of all windows of n quanta of a lane in a fixed order the longest is at least the average one, n/x. So n/x
    may not be above the line, for any n; in the long run the slope decides. Under `fair` a quantum may be
    `ahead` of its share: (n - 1)/x.
    """
    parts = [lane.fragments / lane.slope]
    for n in (lane.first, lane.first + 1):
        limit = lane.limit(n)
        if limit <= 0:
            return None
        parts.append(Fraction(n * lane.fragments - ahead, limit))
    return max(parts)


def too_much(seats: Sequence[Seat], ahead: int = 0) -> Nothing | None:
    """The proof, if there is this one, that no shares can hold all lanes: Σ x_k C_k > 1."""
    total = Fraction(0)
    for seat in seats:
        parts = [part_needed(lane, ahead) for lane in seat.lanes]
        if None in parts:
            sentence = (
                f"{seat.topic}: its promise is shorter than the delays that are the same whatever the shares"
            )
            return Nothing(True, sentence, seat.topic)
        total += seat.cost_ns * max((part for part in parts if part is not None), default=Fraction(0))
    if total > 1:
        needed = f"{float(total):.4g} times the time that there is"
        return Nothing(True, f"the needs take {needed}, whatever the shares", why="overload")
    return None
