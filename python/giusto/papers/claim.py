"""When a published claim reproduces: the measured value is compared as the claim says, within its tolerance.

A claim is a value that a paper prints, or, if it `corrects` another claim, what giusto says instead. Nobody
writes a verdict down. A `reason` is written by hand, for a claim that fails; it is shown only if it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import TypeAlias

from giusto.errors import InvalidInput

Value: TypeAlias = bool | int | float | str
Published: TypeAlias = Value | tuple[float, float]

# How a measured value is compared with the published one.
COMPARISONS = ("equal", "near", "between", "at_least", "at_most")


class Size(StrEnum):
    """How much is run: enough to see that it works, or as much as the paper did."""

    SMALL = "small"
    FULL = "full"


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCES = "reproduces"
    DOES_NOT = "does not"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One value that a paper prints, and how far from it a measured one may be.

    `why` says where the tolerance comes from. `outside` says why the claim cannot be tried in virtual time.
    A claim with `small = False` is judged in full size only.
    """

    id: str
    place: str
    what: str
    published: Published
    unit: str = ""
    compare: str = "equal"
    absolute: float = 0.0
    relative: float = 0.0
    why: str = ""
    reason: str = ""
    corrects: str = ""
    outside: str = ""
    small: bool = True

    def is_tried(self, size: Size) -> bool:
        """Whether a run of this size judges it."""
        return not self.outside and (self.small or size is Size.FULL)

    def agrees(self, ours: Value) -> bool:
        """Whether `ours` is the published value, as far as it can be told."""
        if self.compare == "equal":
            return type(ours) is type(self.published) and ours == self.published
        value = measured(self.id, ours)
        low, high = self.limits()
        return low <= value <= high

    def limits(self) -> tuple[float, float]:
        """The least and the greatest measured value that agree."""
        low, high = self.published if isinstance(self.published, tuple) else (self.published,) * 2
        least, most = measured(self.id, low), measured(self.id, high)
        least -= self.absolute + self.relative * abs(least)
        most += self.absolute + self.relative * abs(most)
        infinite = float("inf")
        return (-infinite if self.compare == "at_most" else least), (
            infinite if self.compare == "at_least" else most
        )


def measured(field: str, value: Value) -> float:
    """A number to compare; a text, a truth value and what is not a number cannot be near anything."""
    if isinstance(value, bool | str) or isnan(value):
        raise InvalidInput(field, value, "a number")
    return float(value)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim, what was measured for it, and the verdict."""

    claim: Claim
    ours: Value | None
    verdict: Verdict

    @property
    def reason(self) -> str:
        """Why it does not reproduce, or was not tried; empty if it does."""
        if self.verdict is Verdict.NOT_TRIED:
            return self.claim.outside or "judged in full size only"
        return self.claim.reason if self.verdict is Verdict.DOES_NOT else ""

    @property
    def is_unexplained(self) -> bool:
        """Whether somebody has to look: it fails without a reason, or what giusto itself says fails."""
        failed = self.verdict is Verdict.DOES_NOT
        return failed and (not self.claim.reason or bool(self.claim.corrects))


def judge(
    claims: Iterable[Claim], values: Mapping[str, Value], size: Size, *, complete: bool = True
) -> list[Judgement]:
    """A verdict for every claim. `values` are by claim; all that can be tried must be there if `complete`."""
    listed = list(claims)
    known = {claim.id for claim in listed if not claim.outside}
    if strange := sorted(set(values) - known):
        raise InvalidInput("values", ", ".join(strange), "values of claims that claims.toml has")
    judged = [judgement(claim, values.get(claim.id), size) for claim in listed]
    missing = [each.claim.id for each in judged if each.ours is None and each.claim.is_tried(size)]
    if missing and complete:
        raise InvalidInput("values", ", ".join(missing), "a measured value for each of these claims")
    return judged if complete else [each for each in judged if each.claim.id in values]


def judgement(claim: Claim, ours: Value | None, size: Size) -> Judgement:
    """The verdict on one claim."""
    if ours is None or not claim.is_tried(size):
        return Judgement(claim, ours, Verdict.NOT_TRIED)
    return Judgement(claim, ours, Verdict.REPRODUCES if claim.agrees(ours) else Verdict.DOES_NOT)


def shown(value: Value | None) -> str:
    """A value for people: four digits are enough to compare, whole numbers stay whole."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def shown_published(claim: Claim) -> str:
    """What the paper prints, with unit and tolerance."""
    if isinstance(claim.published, tuple):
        text = " – ".join(shown(end) for end in claim.published)
    else:
        text = shown(claim.published)
    text = {"at_least": "≥ ", "at_most": "≤ "}.get(claim.compare, "") + text
    slack = [shown(claim.absolute)] if claim.absolute else []
    slack += [f"{shown(100 * claim.relative)} %"] if claim.relative else []
    return " ".join([text, *([f"± {' ± '.join(slack)}"] if slack else []), claim.unit]).strip()


def shown_ours(judged: Judgement) -> str:
    """What was measured, with its unit."""
    return f"{shown(judged.ours)} {judged.claim.unit if judged.ours is not None else ''}".strip()
