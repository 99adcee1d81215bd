"""When a publisher sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from giusto.contract.duration import Duration, Rate, rate_terms
from giusto.sim.keeping import Nanoseconds, OptionalNanoseconds, settle, settle_list, settle_rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic:
    """One message per `period`, each up to `jitter` late; the `phase` of the first is drawn if not given."""

    period: Duration
    phase: Duration | None = None
    jitter: Duration = 0

    period_ns = Nanoseconds()
    phase_ns = OptionalNanoseconds()
    jitter_ns = Nanoseconds()

    def __post_init__(self) -> None:
        settle(self, "period", least_ns=1)
        settle(self, "phase", "jitter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Poisson:
    """Independent messages: exponential distances, so many messages on average."""

    rate: Rate

    def __post_init__(self) -> None:
        settle_rate(self, "rate")

    @property
    def mean_ns(self) -> int:
        """The mean distance, to a nanosecond."""
        count, period_ns = rate_terms(self.rate)
        return max(1, round(period_ns / count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Distances drawn uniformly from `low` to `high`."""

    low: Duration = 0
    high: Duration

    low_ns = Nanoseconds()
    high_ns = Nanoseconds()

    def __post_init__(self) -> None:
        settle(self, "low")
        settle(self, "high", least_ns=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """(σ, ρ): `burst` messages at once, then each as soon as `rate` has earned it."""

    rate: Rate
    burst: int = 1

    def __post_init__(self) -> None:
        settle_rate(self, "rate")

    @property
    def count(self) -> int:
        """Messages that `period_ns` earns."""
        return rate_terms(self.rate)[0]

    @property
    def period_ns(self) -> int:
        """The time in which `count` messages are earned."""
        return rate_terms(self.rate)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """At these instants, whole nanoseconds in the order of time."""

    at_ns: Sequence[int]

    def __post_init__(self) -> None:
        settle_list(self, "at_ns")


Workload: TypeAlias = Periodic | Poisson | Uniform | Greedy | Trace
WORKLOADS: dict[str, type[Workload]] = {
    "periodic": Periodic,
    "poisson": Poisson,
    "uniform": Uniform,
    "greedy": Greedy,
    "trace": Trace,
}
