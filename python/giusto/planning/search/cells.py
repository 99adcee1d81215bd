"""Weights for `twrr` and `smooth`: what is searched, and what is said about the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from giusto.guarantee.stages.weights import cell_ns
from giusto.planning.search import smooth, twrr
from giusto.planning.search.lanes import Nothing, Seat, too_much
from giusto.planning.search.problem import Assignment, Problem, refusal
from giusto.protocol import ShareTerms

REPAIRS = 60
"""How often a weight is raised because admission is more careful than the exact bound."""


def seats(problem: Problem, *, hopeful: bool = False) -> list[Seat]:
    """The guarded topics with one lane for each flow."""
    return [
        Seat(
            topic=record.name,
            cost_ns=cell_ns(record),
            lanes=problem.lanes(record, hopeful=hopeful),
            fixed=problem.given.get(record.name, ShareTerms()).weight,
        )
        for record in problem.records
    ]


def with_twrr(problem: Problem) -> Assignment | Nothing:
    """The least weights. Admission takes a line for messages far behind a burst: it may need more."""
    nothing = problem.hopeless() or too_much(seats(problem, hopeful=True))
    if nothing is not None:
        return nothing
    places = seats(problem)
    empty_ns = problem.setting.costs.step.fixed_ns
    floor: list[int] | None = None
    for _ in range(REPAIRS):
        weights = twrr.least_weights(places, empty_ns, floor)
        if isinstance(weights, Nothing):
            return replace(weights, proved=weights.proved and floor is None and not problem.is_timed)
        shares = weighted(problem, places, weights)
        objection = problem.objection(shares)
        if objection is None:
            return Assignment(shares, said(weights, cheapest=floor is None and not problem.is_timed))
        number = {seat.topic: k for k, seat in enumerate(places)}.get(objection.topic)
        if objection.why != "latency" or number is None or places[number].fixed is not None:
            return refusal(objection, proved=objection.why == "tolerance")
        floor = list(weights)
        floor[number] += 1 + floor[number] // 16
    return Nothing(False, f"no weights found in {REPAIRS} rounds")


def with_smooth(problem: Problem) -> Assignment | Nothing:
    """Light weights."""
    nothing = problem.hopeless() or too_much(seats(problem, hopeful=True))
    if nothing is not None:
        return nothing
    places = seats(problem)
    found = smooth.light_weights(places, problem.setting.costs.step.fixed_ns)
    if isinstance(found, Nothing):
        return replace(found, proved=found.proved and not problem.is_timed)
    shares = weighted(problem, places, found.weights)
    objection = problem.objection(shares)
    if objection is not None:
        return refusal(objection, proved=objection.why == "tolerance")
    return Assignment(shares, said(found.weights, cheapest=found.cheapest and not problem.is_timed))


def weighted(problem: Problem, places: Sequence[Seat], weights: Sequence[int]) -> dict[str, ShareTerms]:
    """The shares; what is given beside a weight stays."""
    return {
        seat.topic: ShareTerms(weight=weight) if seat.fixed is None else problem.given[seat.topic]
        for seat, weight in zip(places, weights, strict=True)
    }


def said(weights: Sequence[int], *, cheapest: bool) -> str:
    """What is proved about weights."""
    if cheapest:
        return f"the cheapest weights: no sum below {sum(weights)} holds (proved)"
    return f"weights that hold, with the sum {sum(weights)}: a smaller one may exist"
