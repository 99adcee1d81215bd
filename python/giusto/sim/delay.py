"""How long a message occupies a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from giusto.config.kinds import bandwidth
from giusto.contract.duration import Duration, duration_ns
from giusto.sim.keeping import Nanoseconds, settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    """N(mean, deviation²) per KB (1024 bytes): one draw per message and link, again if not positive."""

    mean_per_kb: Duration
    deviation_per_kb: Duration = 0

    def __post_init__(self) -> None:
        settle(self, "mean_per_kb", "deviation_per_kb")

    @property
    def mean_ns_per_kb(self) -> int:
        """μ."""
        return duration_ns(self.mean_per_kb)

    @property
    def deviation_ns_per_kb(self) -> int:
        """σ."""
        return duration_ns(self.deviation_per_kb)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """The same for every message."""

    delay: Duration = 0

    delay_ns = Nanoseconds()

    def __post_init__(self) -> None:
        settle(self, "delay")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """As long as the bits take: the message, `overhead_bytes` beside it, `least_bytes` at least.

    `bits_per_s` may be a text: `"10Mbit/s"`.
    """

    bits_per_s: int | str
    overhead_bytes: int = 0
    least_bytes: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits_per_s", bandwidth(self.bits_per_s, "bits_per_s"))


Delay: TypeAlias = Normal | Constant | Bandwidth
DELAYS: dict[str, type[Delay]] = {"normal": Normal, "constant": Constant, "bandwidth": Bandwidth}
