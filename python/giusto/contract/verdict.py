"""What the bus made of a need: a bound that it proved, or why it proved none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from giusto.contract.duration import show_ns
from giusto.contract.show import table


@dataclass(frozen=True, slots=True)
class Granted:
    """No delivery will be later than `bound_ns`; `reason` says what that rests on."""

    bound_ns: int
    reason: str = ""

    def __str__(self) -> str:
        return f"Granted: never later than {show_ns(self.bound_ns)}" + (
            f" ({self.reason})" if self.reason else ""
        )

    def _repr_html_(self) -> str:
        return table("Granted", [("never later than", show_ns(self.bound_ns)), ("because", self.reason)])


@dataclass(frozen=True, slots=True)
class Unproved:
    """The subscription stands, without a proof; `reason` says why."""

    reason: str

    def __str__(self) -> str:
        return f"Unproved: {self.reason}"

    def _repr_html_(self) -> str:
        return table("Unproved", [("because", self.reason)])


Verdict: TypeAlias = Granted | Unproved


def verdict(bound_ns: int | None, reason: str) -> Verdict:
    """The verdict of a broker's answer."""
    return Unproved(reason) if bound_ns is None else Granted(bound_ns, reason)
