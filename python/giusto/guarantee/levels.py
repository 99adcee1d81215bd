"""Which flow gets which egress level, and in which order levels may be changed while traffic flows.

Levels count up from 0, the least urgent. If two sets of flows can each form the lowest level, so can their
union: when a flow g joins the level, the denominator of (N1) grows by U_g, while the numerator stays (a
policed flow) or grows by C_g U_g (a trusted one), and the quotient was at least C_g before. Filling each
level from the bottom with the largest set that can stand it is therefore optimal for (N1) and uses the
fewest levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from giusto.errors import InvalidInput
from giusto.guarantee import exact
from giusto.guarantee.exact import Number
from giusto.guarantee.flow import Flow
from giusto.guarantee.queueing import queueing


@dataclass(frozen=True, slots=True)
class Assigned:
    """The level of each flow and its (N1) there, in the order of the flows."""

    level: tuple[int, ...]
    queueing_ns: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Unassigned:
    """No assignment within the levels: why, and the positions of the flows that were left."""

    reason: str
    flows: tuple[int, ...]


def assign_levels(flows: Sequence[Flow], levels: int, blocking_ns: Number = 0) -> Assigned | Unassigned:
    """Pack flows into levels from the lowest up within their budgets; `blocking_ns` is best effort."""
    exact.require_kinds("flows", flows, Flow)
    levels = exact.whole("levels", levels, 1)
    blocking = exact.nonnegative("blocking_ns", blocking_ns)
    load = sum((flow.load for flow in flows), Fraction(0))
    if load > 1:
        return Unassigned(f"load {load} is above 1", tuple(range(len(flows))))
    level: dict[int, int] = {}
    waits: dict[int, Fraction] = {}
    left = list(range(len(flows)))
    for p in range(levels):
        if not left:
            break
        fitting = largest_level(flows, left, blocking)
        if not fitting:
            return Unassigned(f"no flow can stand level {p}", tuple(left))
        left = [i for i in left if i not in fitting]
        level.update(dict.fromkeys(fitting, p))
        waits.update(fitting)
        blocking = max(blocking, *(flows[i].longest_frame_ns for i in fitting))
    if left:
        return Unassigned(f"more than {levels} levels are needed", tuple(left))
    return Assigned(tuple(level[i] for i in range(len(flows))), tuple(waits[i] for i in range(len(flows))))


def largest_level(flows: Sequence[Flow], left: Sequence[int], blocking: Fraction) -> dict[int, Fraction]:
    """The largest set of `left` that can be one level below all the others, with the (N1) of each."""
    members = list(left)
    while True:
        above = [flows[i] for i in left if i not in members]
        waits = {
            i: queueing(flows[i], above, [flows[j] for j in members if j != i], blocking) for i in members
        }
        staying = [i for i in members if within(waits[i], flows[i].budget_ns)]
        if staying == members:
            return waits
        members = staying


def within(wait: Fraction, budget: Fraction | None) -> bool:
    """Whether the flow can stand the wait."""
    return budget is None or wait <= budget


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a reconfiguration."""

    flow: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Unsafe:
    """The step that would break a budget, and of which flow."""

    move: Move
    flow: int


def reconfiguration(
    old: Sequence[int], new: Sequence[int], flows: Sequence[Flow] | None = None, blocking_ns: Number = 0
) -> list[Move] | Unsafe:
    """First the moves up, most urgent first, then the moves down, least urgent first.

    Two flows that are in the same strict order before and after are so after every step. With `flows` each
    intermediate assignment is also checked against (N1) and the first step that fails is returned.
    """
    exact.require_length("new", new, exact.length("old", old))
    current = [exact.whole(f"old[{i}]", level) for i, level in enumerate(old)]
    wanted = [exact.whole(f"new[{i}]", level) for i, level in enumerate(new)]
    moves = [
        Move(i, before, after)
        for i, (before, after) in enumerate(zip(current, wanted, strict=True))
        if before != after
    ]
    up = sorted((move for move in moves if move.new > move.old), key=lambda move: -move.new)
    down = sorted((move for move in moves if move.new < move.old), key=lambda move: move.new)
    ordered = up + down
    if flows is None:
        return ordered
    exact.require_length("flows", flows, len(current))
    exact.require_kinds("flows", flows, Flow)
    for move in ordered:
        current[move.flow] = move.new
        broken = first_broken(flows, current, exact.nonnegative("blocking_ns", blocking_ns))
        if broken is not None:
            return Unsafe(move, broken)
    return ordered


def first_broken(flows: Sequence[Flow], level: Sequence[int], blocking: Fraction) -> int | None:
    """A flow whose (N1) is above its budget under this assignment."""
    if sum(flow.load for flow in flows) > 1:
        raise InvalidInput("flows", flows, "a load of at most 1")
    for i, flow in enumerate(flows):
        higher = [other for j, other in enumerate(flows) if level[j] > level[i]]
        same = [other for j, other in enumerate(flows) if level[j] == level[i] and j != i]
        lower = [other.longest_frame_ns for j, other in enumerate(flows) if level[j] < level[i]]
        if not within(queueing(flow, higher, same, max([blocking, *lower])), flow.budget_ns):
            return i
    return None
