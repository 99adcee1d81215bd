"""What goes wrong in a network, and when: from `start` to before `end`, or for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from giusto.contract.duration import Duration
from giusto.sim.keeping import Nanoseconds, OptionalNanoseconds, settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When something goes wrong."""

    start: Duration = 0
    end: Duration | None = None

    start_ns = Nanoseconds()
    end_ns = OptionalNanoseconds()

    def __post_init__(self) -> None:
        settle(self, "start", "end")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDown(Window):
    """Nothing is sent on the link, and what is being sent when it begins is lost."""

    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDown(Window):
    """What waits in the broker or arrives there is lost, and its links are down."""

    broker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spike(Window):
    """Transmissions that begin in the window take `factor` times as long, and `extra` more."""

    link: str
    factor: float = 1.0
    extra: Duration = 0

    extra_ns = Nanoseconds()

    def __post_init__(self) -> None:
        # A class with slots is not the one that a bare super() was written in.
        Window.__post_init__(self)
        settle(self, "extra")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Window):
    """Transmissions that begin in the window are lost, each with this probability."""

    link: str
    probability: float


Fault: TypeAlias = LinkDown | BrokerDown | Spike | Loss
FAULTS: dict[str, type[Fault]] = {
    "link_down": LinkDown,
    "broker_down": BrokerDown,
    "spike": Spike,
    "loss": Loss,
}
