"""What a plan says: the bound of every contract, the shares that give it, and what cannot be held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from giusto.contract import Part, show_ns
from giusto.errors import Nearest
from giusto.planning.plain import as_plain
from giusto.planning.scenario import Needed, Scenario
from giusto.planning.tables import as_html, as_text
from giusto.protocol import ShareTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A need on one topic that holds: never later than `promise_ns`, with this traffic than `bound_ns`.

    `publisher` is the one whose messages take longest, None while nobody publishes there.
    """

    need: str
    client: str
    topic: str
    publisher: str | None
    promise_ns: int
    bound_ns: int
    parts: tuple[Part, ...] = ()

    @property
    def slack_ns(self) -> int:
        """What is left of the promise."""
        return self.promise_ns - self.bound_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A need that cannot be held beside those before it: `why` is a word, `reason` a sentence."""

    need: str
    client: str
    pattern: str
    asked_ns: int | None
    why: str
    reason: str
    nearest: Nearest | None = None

    @classmethod
    def of(cls, needed: Needed, why: str, reason: str, nearest: Nearest | None = None) -> Failure:
        """The failure of a need of the scenario."""
        return cls(
            need=needed.path,
            client=needed.client,
            pattern=needed.pattern,
            asked_ns=needed.need.max_latency_ns,
            why=why,
            reason=reason,
            nearest=nearest,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What one policy makes of the scenario.

    `load_factor` is by how much all rates can be multiplied so that all needs still hold, exact to 1 %; None
    if they do not hold as they are.
    """

    input: str
    holds: bool
    failures: int
    utilisation: float
    worst_slack_ns: int | None
    load_factor: float | None
    claim: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer. `claim` says what is proved about the shares, `basis` on which costs all bounds rest."""

    scenario: Scenario = field(repr=False)
    input: str
    contracts: tuple[Contract, ...]
    failures: tuple[Failure, ...]
    shares: Mapping[str, ShareTerms]
    utilisation: float
    claim: str
    comparison: tuple[Compared, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every need holds."""
        return not self.failures

    @property
    def basis(self) -> str:
        """Where the costs come from."""
        return self.scenario.costs.basis

    @property
    def worst_slack_ns(self) -> int | None:
        """The least slack of all contracts."""
        return min((contract.slack_ns for contract in self.contracts), default=None)

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain values, for JSON."""
        return as_plain(self)

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        total = len({contract.need for contract in self.contracts}) + len(self.failures)
        if self.failures:
            return f"{len(self.failures)} of {total} needs cannot be held with {self.input}"
        least = self.worst_slack_ns
        slack = "" if least is None else f", the least slack is {show_ns(least)}"
        return f"all needs hold with {self.input}: {len(self.contracts)} contracts{slack}"
