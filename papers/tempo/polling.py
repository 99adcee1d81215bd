"""Section IV-E, time-driven: a thread that runs every P for at most T, and leaves when nothing waits.

One topic in the order of arrival, whole messages only: no policy has anything to choose, and the few lines of
`polled` are the whole server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from giusto.guarantee import polling
from giusto.papers import Findings, Table, Trial, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """A period, a budget in it, and how long a message takes."""

    period_ns: int
    budget_ns: int
    service_ns: int

    def polled(self, arrivals_ns: Sequence[int]) -> list[int]:
        """Delays of the messages, which come in the order of time; one that comes at a poll is seen by it."""
        delays_ns: list[int] = []
        start_ns = 0
        while len(delays_ns) < len(arrivals_ns):
            now_ns = start_ns
            while len(delays_ns) < len(arrivals_ns):
                arrived_ns = arrivals_ns[len(delays_ns)]
                if arrived_ns > now_ns or now_ns + self.service_ns > start_ns + self.budget_ns:
                    break
                now_ns += self.service_ns
                delays_ns.append(now_ns - arrived_ns)
            start_ns += self.period_ns
        return delays_ns

    def bound_ms(self, rate_per_ms: Fraction) -> float:
        """(Q1) for a periodic flow."""
        found = polling.response(
            1, rate_per_ms / MS, period=self.period_ns, budget=self.budget_ns, service=self.service_ns
        )
        return float(found / MS)


# Long messages beside the window, short ones, and a budget that does not hold two whole messages.
LONG = Window(10 * MS, 4 * MS, MS)
SHORT = Window(10 * MS, 4 * MS, MS // 10)
ODD = Window(10 * MS, 4 * MS, 5 * MS // 2)
RATE = Fraction(15, 100)


def measure(trial: Trial) -> Findings:
    """All phases of a periodic publisher; then a rate between ⌊μT⌋/P and μT/P."""
    phases = [n * LONG.period_ns // trial.pick(50, 1_000) + 1 for n in range(trial.pick(50, 1_000))]
    by_phase = {phase: LONG.polled(periodic(RATE, 60, phase)) for phase in trial.each(phases)}
    short = [delay for phase in phases for delay in SHORT.polled(periodic(RATE, 60, phase))]
    every = [delay for delays in by_phase.values() for delay in delays]
    alone = {phase: LONG.polled([phase])[0] for phase in phases}
    count = trial.pick(400, 4_000)
    growing, steady = ODD.polled(periodic(RATE, count, 0)), ODD.polled(periodic(Fraction(1, 10), count, 1))
    carried = (count - 1) / (growing[-1] + periodic(RATE, count, 0)[-1]) * MS
    step = count // 100
    return Findings(
        {
            "polling-mean": sum(every) / len(every) / MS,
            "polling-mean-short": sum(short) / len(short) / MS,
            "polling-max": max(alone.values()) / MS,
            "polling-max-true": max(alone.values()) / MS,
            "polling-stable": is_steady(growing),
            "polling-stable-true": carried,
        },
        {
            "polling-phase": Table(
                ("phase_ms", "delay_ms"), [(phase / MS, delay / MS) for phase, delay in alone.items()]
            ),
            "polling-growth": Table(
                ("message", "delay_at_0.15_ms", "delay_at_0.1_ms"),
                [(n, growing[n] / MS, steady[n] / MS) for n in range(0, count, step)],
            ),
        },
    )


def is_steady(delays_ns: Sequence[int]) -> bool:
    """Whether the last tenth of all delays is no longer than the tenth in the middle."""
    tenth, middle = len(delays_ns) // 10, len(delays_ns) // 2
    return max(delays_ns[-tenth:]) <= max(delays_ns[middle : middle + tenth])


def periodic(rate_per_ms: Fraction, count: int, phase_ns: int) -> list[int]:
    """Instants at a constant rate."""
    return [phase_ns + int(n * MS / rate_per_ms) for n in range(count)]


def draw(tables: Mapping[str, Table]) -> Figure:
    """Delay against the phase of an arrival, and delay as messages go by."""
    figure, (left, right) = drawing.canvas(1, 2)
    by_phase(left, tables["polling-phase"])
    growth(right, tables["polling-growth"])
    return figure


def by_phase(axes: Axes, table: Table) -> None:
    axes.plot(table.column("phase_ms"), table.column("delay_ms"), color=drawing.COLOURS[0], label="simulated")
    drawing.published_level(axes, 10, "published maximum, P")
    bound_ms = LONG.bound_ms(Fraction(1, 10))
    axes.axhline(bound_ms, color=drawing.COLOURS[1], linestyle=":", label=f"(Q1): {bound_ms:g} ms")
    axes.set_ylim(0, 14)
    title = "P = 10 ms, T = 4 ms, 1 ms per message"
    drawing.label(axes, title=title, x="arrival after a poll, ms", y="time in the system, ms")


def growth(axes: Axes, table: Table) -> None:
    messages = table.column("message")
    axes.plot(
        messages, table.column("delay_at_0.15_ms"), color=drawing.COLOURS[0], label="0.15 per ms: μT/P = 0.16"
    )
    axes.plot(
        messages,
        table.column("delay_at_0.1_ms"),
        color=drawing.COLOURS[1],
        label="0.10 per ms: ⌊μT⌋/P = 0.10",
    )
    title = "T = 4 ms, 2.5 ms per message"
    drawing.label(axes, title=title, x="message", y="time in the system, ms")
