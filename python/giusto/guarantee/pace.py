"""How long so much work takes when part of the time goes into reading, and perhaps only a window is served.

Load-driven: W + U·t of work has come by t, so that W is done at W/(1-U). Time-driven, (Q1): a window of the
period P does the budget less one quantum that did not fit into it, u; the worst moment is just after the
thread has left at the beginning of a window. Reading comes in during all of the time, so that

    t = Θ(W + U·t),   Θ(w) = P·⌈w/u⌉ + ((w-1) mod u) + 1  <=  P + P·w/u

and t is the least solution, which the line gives a ceiling for.
"""

from __future__ import annotations

from dataclasses import dataclass

from giusto.guarantee.fixed import ONE, ceil_div, of

STEPS = 200
"""Rounds in search of the least solution before the line stands for it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """`reading` in parts of ONE; `period_ns` is 0 when the thread is load-driven."""

    reading: int
    period_ns: int = 0
    window_ns: int = 0

    @property
    def left(self) -> tuple[int, int]:
        """The part of the time that is left for serving, as a fraction; not above 0 if nothing is."""
        if self.period_ns == 0:
            return ONE - self.reading, ONE
        return self.window_ns * ONE - self.reading * self.period_ns, self.period_ns * ONE

    @property
    def waited(self) -> int:
        """A period before the first window, in the denominator of what is `left`."""
        return self.period_ns * self.window_ns * ONE

    def time_ns(self, work_ns: int) -> int:
        """From the worst moment to the end of so much work."""
        if self.period_ns == 0:
            return ceil_div(work_ns * ONE, ONE - self.reading)
        done = 0
        for _ in range(STEPS):
            later = self.windows_ns(work_ns + of(done, self.reading))
            if later == done:
                return done
            done = later
        return self.line_ns(work_ns)

    def line_ns(self, work_ns: int) -> int:
        """Never below `time_ns`, and straight in the work."""
        numerator, denominator = self.left
        return ceil_div(work_ns * denominator + self.waited, numerator)

    def windows_ns(self, work_ns: int) -> int:
        """Θ."""
        full, rest = divmod(max(work_ns, 1) - 1, self.window_ns)
        return self.period_ns * (full + 1) + rest + 1
