"""When each message of an open loop is due: at fixed instants, however long the one before took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from giusto.contract import rate_terms
from giusto.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Pace:
    """`count` messages (without end if `None`), `per` of them in each `period_ns` (all at once if 0)."""

    count: int | None
    per: int = 1
    period_ns: int = 0

    def due_ns(self, start_ns: int) -> Iterator[int]:
        """The instant of each message. Calculated from the start, so that nothing drifts."""
        number = 0
        while self.count is None or number < self.count:
            yield start_ns + number * self.period_ns // self.per
            number += 1


class Release:
    """When a message may leave so that its offer is kept: late by at most `jitter_ns` against its plan.

    A longer delay is made up for as fast as the offer allows, and no faster.
    """

    def __init__(self, plan: Pace, jitter_ns: int) -> None:
        self._plan = plan
        self._jitter_ns = jitter_ns
        # When the next would be due after those that left, times `per`, so that nothing is rounded.
        self._next = 0

    def at_ns(self, due_ns: int) -> int:
        """When it may leave."""
        return max(due_ns, self._next // self._plan.per - self._jitter_ns)

    def left(self, now_ns: int) -> None:
        """It has."""
        self._next = max(self._next, now_ns * self._plan.per) + self._plan.period_ns


def pace(rate: str | None, count: int | None, *, alone: int | None = 1) -> Pace:
    """What `--rate` and `--count` mean together: a rate alone has no end, and neither means `alone`."""
    if count is not None and count < 1:
        raise InvalidInput("--count", count, "at least 1")
    if rate is None:
        return Pace(alone if count is None else count)
    per, period_ns = rate_terms(number(rate), "--rate")
    return Pace(count, per, period_ns)


def number(rate: str) -> str | float:
    """`1000` and `2.5` are messages per second; anything else is for `rate_terms` to read."""
    try:
        return float(rate)
    except ValueError:
        return rate


def wait_until(due_ns: int) -> None:
    """Sleep until then; returns at once if that is past."""
    left_ns = due_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)
