"""What a processor allots to a topic, and how long it is busy with one quantum of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from giusto import _core
from giusto.guarantee.exact import nonnegative


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic and what it is allotted; a policy reads the fields that it knows.

    `weight` is for `twrr` and `smooth`; `rate` and `virtual_deadline` (at most 1/rate) for `fair`;
    `period_ns` and `deadline_ns` for `edf`. `service_ns` is how long one quantum of it takes, and needed
    wherever a processor serves.
    """

    name: str
    service_ns: int = 0
    weight: int = 1
    rate: int = 1
    virtual_deadline: Fraction | None = None
    period_ns: int = 1_000_000
    deadline_ns: int = 1_000_000

    @property
    def share(self) -> _core.Share:
        """As the core takes it. A virtual deadline is rounded down to whole ticks."""
        ticks = None
        if self.virtual_deadline is not None:
            ticks = math.floor(nonnegative("virtual_deadline", self.virtual_deadline) * _core.TICKS)
        return _core.Share(
            weight=self.weight,
            rate=self.rate,
            virtual_deadline=ticks,
            period_ns=self.period_ns,
            deadline_ns=self.deadline_ns,
        )
