"""The least tolerance with which a change would be granted that is refused for want of it.

More tolerance lets publishers send closer together, so that more is read at once and a message waits longer
to be read. How much longer is nearly a straight line: two points of it tell where it meets the tolerance.
Every tolerance that is named was tried, in a book of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from giusto.guarantee.model import Change, Objection

if TYPE_CHECKING:
    from giusto.guarantee.book import Book

FLOWS_MAX = 300
"""Above that, trying a tolerance takes too long for a broker: about as long as a decision about all flows."""
TRIES = 6
GRAIN_NS = 10_000
"""Tolerances are whole hundredths of a millisecond."""


def least_tolerance_ns(book: Book, change: Change, worst_ns: int) -> int | None:
    """As `guarantee.tolerance` would have to be; None if none is enough, or if it takes too long to say.

    With the present one a message may wait `worst_ns`.
    """
    with book.tried(change):
        everything = Change(
            supplies=book.supplies,
            demands=book.demands,
            topics=tuple(book.topics.values()),
            rest=book.rest,
        )
    if len(everything.supplies) > FLOWS_MAX:
        return None
    beside_ns = book.setting.tolerance_beside_ns

    def waits_ns(tolerance_ns: int) -> int | None:
        objection = objection_with(book, everything, tolerance_ns + beside_ns)
        if objection is None:
            return tolerance_ns
        is_known = objection.why == "tolerance" and objection.bound_ns is not None
        return objection.bound_ns - beside_ns if is_known and objection.bound_ns is not None else None

    return meeting_ns((book.setting.tolerance_ns - beside_ns, worst_ns - beside_ns), waits_ns)


def objection_with(book: Book, everything: Change, tolerance_ns: int) -> Objection | None:
    """What a broker with another tolerance would object to."""
    more_ns = tolerance_ns - book.setting.tolerance_ns
    other = type(book)(replace(book.setting, tolerance_ns=tolerance_ns))
    supplies = tuple(replace(one, jitter_ns=one.jitter_ns + more_ns) for one in everything.supplies)
    other.commit(replace(everything, supplies=supplies))
    return other.decide(Change())


def meeting_ns(point: tuple[int, int], waits_ns: Callable[[int], int | None]) -> int | None:
    """The least tolerance that is as long as a message waits with it.

    `point` is one that is too short, and the wait with it. `waits_ns` is at most the tolerance if everything
    holds with it, and None if something else is wrong.
    """
    before = None
    for _ in range(TRIES):
        tolerance_ns = -(-met(before, point) // GRAIN_NS) * GRAIN_NS
        found_ns = waits_ns(tolerance_ns)
        if found_ns is None or found_ns <= tolerance_ns:
            return None if found_ns is None else tolerance_ns
        before, point = point, (tolerance_ns, found_ns)
    return None


def met(before: tuple[int, int] | None, point: tuple[int, int]) -> int:
    """Where the line through two points (tolerance, wait) meets the tolerance, or a point nearer to it."""
    tolerance_ns, found_ns = point
    if before is None:
        return found_ns
    run_ns, rise_ns = tolerance_ns - before[0], found_ns - before[1]
    if not 0 <= rise_ns < run_ns:
        return found_ns
    return tolerance_ns - -(found_ns - tolerance_ns) * run_ns // (run_ns - rise_ns)
