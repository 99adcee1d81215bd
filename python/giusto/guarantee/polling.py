"""The time-driven mode: the messaging thread runs every `period` for at most `budget`, whole messages only.

Such a polling server fits ⌊budget/service⌋ messages into a window, whatever the budget leaves over. It
leaves when nothing waits, so the worst arrival comes just after it left at the very start of its window and
waits a whole period (Q1). A thread that keeps its window to the end is missed worst just when the rest of
the window is too short for one message. With several topics the messages of other topics that go before are
those of (V1). The thread must be the most urgent one; otherwise add the latency of its own scheduling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from giusto.errors import InvalidInput, Overload
from giusto.guarantee import envelope, exact, fair
from giusto.guarantee.exact import Number


@dataclass(frozen=True, slots=True)
class Window:
    """A periodic budget, checked."""

    period: Fraction
    budget: Fraction
    service: Fraction
    keeps: bool = False

    @classmethod
    def checked(cls, period: Number, budget: Number, service: Number, keeps: bool = False) -> Window:
        """At least one message must fit, and the budget into the period."""
        window = cls(
            exact.positive("period", period),
            exact.positive("budget", budget),
            exact.positive("service", service),
            exact.flag("keeps_window", keeps),
        )
        if window.budget > window.period:
            raise InvalidInput("budget", budget, f"at most the period, {window.period}")
        if window.budget < window.service:
            raise InvalidInput("budget", budget, f"at least one service, {window.service}")
        return window

    @property
    def messages(self) -> int:
        """n_w = ⌊μT⌋."""
        return floor(self.budget / self.service)

    @property
    def rate(self) -> Fraction:
        """⌊μT⌋/P."""
        return self.messages / self.period

    def time_to_serve(self, n: int) -> Fraction:
        """Θ(n)."""
        full, rest = divmod(n - 1, self.messages)
        missed = self.service - self.budget if self.keeps else Fraction(0)
        return self.period * (full + 1) + missed + (rest + 1) * self.service

    @property
    def offset(self) -> Fraction:
        """Θ(n) is at most this plus (n-1)/rate."""
        return self.time_to_serve(1)


def time_to_serve(
    n: int, *, period: Number, budget: Number, service: Number, keeps_window: bool = False
) -> Fraction:
    """Θ(n): from the worst arrival of n messages to the end of the last one."""
    return Window.checked(period, budget, service, keeps_window).time_to_serve(exact.whole("n", n, 1))


def stable(rate: Number, *, period: Number, budget: Number, service: Number) -> bool:
    """Whether λ <= ⌊μT⌋/P; the remainder of the budget is of no use to whole messages."""
    return exact.nonnegative("rate", rate) <= Window.checked(period, budget, service).rate


def response(
    burst: Number,
    rate: Number,
    *,
    period: Number,
    budget: Number,
    service: Number,
    rates: Sequence[Number] = (1,),
    deadlines: fair.Deadlines = None,
    topic: int = 0,
    keeps_window: bool = False,
) -> Fraction:
    """(Q1): the worst response of a (burst, rate) flow, alone or (with virtual `rates`) among other topics.

    Raises `Overload` when the rate is above the topic's part of ⌊μT⌋/P.
    """
    window = Window.checked(period, budget, service, keeps_window)
    place = fair.Place.checked(rates, deadlines, topic, 1)
    flow_burst = exact.at_least_one("burst", burst)
    flow_rate = exact.nonnegative("rate", rate)
    guaranteed = window.rate / place.slope
    if flow_rate > guaranteed:
        raise Overload(f"rate {flow_rate} is above the guaranteed rate {guaranteed}: no bound exists")

    def done(j: int) -> Fraction:
        # With a service time of 1, (V1) counts messages.
        return window.time_to_serve(int(place.completion(j)))

    line = window.offset + (fair.offset(place) - 1) / window.rate
    return envelope.worst_below_line(
        done, line, place.slope / window.rate, flow_burst, flow_rate, place.span * window.messages
    )
