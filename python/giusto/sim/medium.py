"""Wires that several links share, and who may send on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from giusto.contract.duration import Duration
from giusto.sim.keeping import Nanoseconds, settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Ethernet:
    """CSMA/CD: who waits sends as soon as the wire is free; who collides backs off.

    The times are those of 10 Mbit/s. A message that has collided `attempts` times in a row is lost.
    """

    name: str
    slot: Duration = "51200ns"
    gap: Duration = "9600ns"
    attempts: int = 16

    slot_ns = Nanoseconds()
    gap_ns = Nanoseconds()

    def __post_init__(self) -> None:
        settle(self, "slot", least_ns=1)
        settle(self, "gap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Can:
    """CSMA/AMP: the highest priority wins, then the first link; nothing is interrupted."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """Full duplex to a switch: only the links that leave one broker share a cable."""

    name: str


Medium: TypeAlias = Ethernet | Can | Switched
MEDIA: dict[str, type[Medium]] = {"ethernet": Ethernet, "can": Can, "switched": Switched}
