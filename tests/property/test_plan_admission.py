"""Plans against the admission of the live broker: what is called impossible is refused with every share."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from giusto.config import BrokerConfig, Guarantee
from giusto.contract import Need, Offer
from giusto.planning import Needed, Offered, Scenario
from giusto.planning.scenario import POLICIES
from giusto.planning.search import Assignment, assigned, filled
from giusto.planning.search.problem import Problem
from giusto.planning.traffic import Changed, Traffic, traffic
from giusto.protocol import ShareTerms

CONFIG = BrokerConfig(guarantee=Guarantee(tolerance_ns=50_000_000))


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Some topics with some publishers; promises near what default shares can give."""
    offers, needs = [], []
    for k in range(draw(st.integers(1, 3))):
        for i in range(draw(st.integers(1, 3))):
            offer = Offer(
                min_sep=draw(st.integers(1, 40)) / 1_000,
                burst=draw(st.integers(1, 6)),
                max_size=draw(st.sampled_from([16, 400, 3_000, 100_000])),
            )
            offers.append(Offered(client=f"p{i}", topic=f"t{k}", offer=offer, path=f"offer[{len(offers)}]"))
        needs.append(
            Needed(client="s", pattern=f"t{k}", need=Need(max_latency="10s"), path=f"need[{len(needs)}]")
        )
    return Scenario(offers=tuple(offers), needs=tuple(needs), config=CONFIG)


def promised(scenario: Scenario, policy: str, percent: list[int]) -> Traffic:
    """The traffic with promises that are so much of what is possible with default shares."""
    numbers = range(len(scenario.needs))
    loose = traffic(scenario, numbers)
    problem = Problem(loose, scenario.setting(policy), {})
    assume(problem.objection({}) is None)
    book = filled(loose, scenario.setting(policy), {})
    bounds = [book.worst([needed.pattern]) for needed in scenario.needs]
    latencies = {
        number: bound.total_ns * percent[number] // 100
        for number, bound in zip(numbers, bounds, strict=True)
        if bound is not None
    }
    return traffic(scenario, numbers, Changed(max_latency_ns=latencies))


def shares(policy: str, topics: list[str]) -> list[dict[str, ShareTerms]]:
    """Every vector of small shares."""
    if policy == "edf":
        deadlines = [None, 100_000, 1_000_000, 5_000_000]
        kinds = [ShareTerms(period_ns=1_000, deadline_ns=each) for each in deadlines]
    elif policy == "fair":
        kinds = [ShareTerms(rate=rate, virtual_deadline=each) for rate in range(1, 5) for each in (None, 0)]
    else:
        kinds = [ShareTerms(weight=weight) for weight in range(1, 6)]
    return [dict(zip(topics, each, strict=True)) for each in product(kinds, repeat=len(topics))]


def cost(policy: str, found: dict[str, ShareTerms]) -> int:
    """What is minimised."""
    return sum((each.rate if policy == "fair" else each.weight) or 0 for each in found.values())


@pytest.mark.parametrize("policy", POLICIES)
@given(scenario=scenarios(), percent=st.lists(st.integers(50, 130), min_size=3, max_size=3))
@settings(max_examples=25)
def test_a_plan_finds_shares_if_admission_grants_any_and_none_are_cheaper(
    policy: str, scenario: Scenario, percent: list[int]
) -> None:
    found = promised(scenario, policy, percent)
    problem = Problem(found, scenario.setting(policy), {})
    outcome = assigned(found, scenario.setting(policy), {}, search=True)
    granted = [each for each in shares(policy, list(found.fanout)) if problem.objection(each) is None]
    if isinstance(outcome, Assignment):
        assert problem.objection(outcome.shares) is None
        if "(proved)" in outcome.claim:
            assert all(cost(policy, dict(outcome.shares)) <= cost(policy, each) for each in granted)
    else:
        assert not (outcome.proved and granted)
        assert not granted or policy == "smooth"


@pytest.mark.parametrize("policy", POLICIES)
@given(scenario=scenarios(), percent=st.lists(st.integers(50, 130), min_size=3, max_size=3))
@settings(max_examples=15)
def test_in_windows_too_what_is_called_impossible_is_refused(
    policy: str, scenario: Scenario, percent: list[int]
) -> None:
    timed = replace(scenario, config=replace(CONFIG, mode="time", period_ns=4_000_000, budget_ns=3_500_000))
    found = promised(timed, policy, percent)
    problem = Problem(found, timed.setting(policy), {})
    outcome = assigned(found, timed.setting(policy), {}, search=True)
    if isinstance(outcome, Assignment):
        assert problem.objection(outcome.shares) is None
    elif outcome.proved:
        assert all(problem.objection(each) is not None for each in shares(policy, list(found.fanout)))
