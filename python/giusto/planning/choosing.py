"""Which needs are granted when not all can be: in the order of the scenario, each beside those before it.

Fewer needs never make an assignment impossible, so that the longest part of the list that holds is found by
halving; the need behind it is refused, and the search goes on with those behind that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from giusto.planning.search import Assignment, Nothing

Outcome = Assignment | Nothing
Attempt = Callable[[Sequence[int]], Outcome]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is granted and with which shares, why others are not, and which were not tried."""

    granted: tuple[int, ...]
    assignment: Assignment
    refused: dict[int, Nothing]
    untried: tuple[int, ...] = ()


def chosen(always: Sequence[int], wanted: Sequence[int], attempt: Attempt, refused_max: int) -> Chosen:
    """`always` are needs that ask for no latency: they hold, and count as subscribers.

    After `refused_max` refusals the needs that are left are not tried any more.
    """
    kept, left = list(always), list(wanted)
    refused: dict[int, Nothing] = {}
    while left and len(refused) < refused_max:
        fits, nothing = longest(kept, left, attempt)
        kept += left[:fits]
        if nothing is not None:
            refused[left[fits]] = nothing
        left = left[fits + 1 :]
    outcome = attempt(kept)
    if isinstance(outcome, Nothing):
        # Subscriptions that nobody promised anything do not need an assignment.
        outcome = Assignment({}, outcome.sentence)
    return Chosen(tuple(kept), outcome, refused, tuple(left))


def longest(kept: Sequence[int], left: Sequence[int], attempt: Attempt) -> tuple[int, Nothing | None]:
    """How many of `left` hold beside `kept`, and why not one more; None if all do."""
    outcome = attempt([*kept, *left])
    if isinstance(outcome, Assignment):
        return len(left), None
    nothing, holds, fails = outcome, 0, len(left)
    while fails - holds > 1:
        # Refused needs are often near each other: twice as far from here, or half of the way.
        middle = min(2 * holds + 1, (holds + fails) // 2)
        outcome = attempt([*kept, *left[:middle]])
        if isinstance(outcome, Nothing):
            nothing, fails = outcome, middle
        else:
            holds = middle
    return holds, nothing
