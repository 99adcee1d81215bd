"""`giusto.plan()`: from a scenario, in whatever form, to its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from giusto.errors import InvalidInput
from giusto.planning import nearest
from giusto.planning.making import Maker
from giusto.planning.reading import from_document, read
from giusto.planning.result import Compared, Plan
from giusto.planning.scenario import ANY, POLICIES, Scenario
from giusto.planning.search import Assignment
from giusto.planning.traffic import Changed

Given: TypeAlias = Scenario | Mapping[str, Any] | str | PathLike[str]


def plan(
    scenario: Given,
    *,
    input: str | None = None,  # the name that the configuration gives it
    search: bool = True,
    compare: bool = False,
) -> Plan:
    """The bound of every contract, and the cheapest shares under which all needs hold.

    `scenario` is a file, a document such as the file would be, or a `Scenario`. `input` is a policy in place
    of the scenario's, or "any": the first of twrr, smooth, fair, edf under which all needs hold. Without
    `search` the shares are those of the scenario, or the default ones. `compare` asks every policy.
    """
    given = found(scenario)
    policy = given.input if input is None else input
    if policy not in (*POLICIES, ANY):
        raise InvalidInput("input", policy, " or ".join((*POLICIES, ANY)))
    makers: dict[str, Maker] = {}

    def maker(name: str) -> Maker:
        return makers.setdefault(name, Maker(given, name, search=search))

    names = POLICIES if policy == ANY else (policy,)
    name = next((each for each in names if maker(each).holds), names[0])
    made = maker(name).plan()
    return replace(made, comparison=tuple(compared(maker(each)) for each in POLICIES)) if compare else made


def found(scenario: Given) -> Scenario:
    """The scenario that was meant."""
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return from_document(scenario)
    if isinstance(scenario, str | PathLike):
        return read(Path(scenario))
    raise InvalidInput("scenario", scenario, "a file, a document or a Scenario")


def compared(maker: Maker) -> Compared:
    """What a policy makes of the scenario, and how much more it could take."""
    made = maker.plan(near=False)
    factor = nearest.load_factor(lambda by: holds_at(maker, by)) if maker.holds else None
    return Compared(
        input=maker.policy,
        holds=maker.holds,
        failures=len(maker.refused) + len(maker.choice.refused) + len(maker.choice.untried),
        utilisation=made.utilisation,
        worst_slack_ns=made.worst_slack_ns,
        load_factor=factor,
        claim=maker.claim,
    )


def holds_at(maker: Maker, factor: Fraction) -> bool:
    """Whether all needs hold if everybody sends so many times as often."""
    everything = [*maker.always, *maker.wanted]
    return isinstance(maker.attempt(everything, Changed(factor=factor)), Assignment)
