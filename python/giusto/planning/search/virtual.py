"""Rates and virtual deadlines for `fair`: what is searched, and what is said about the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from giusto.guarantee.fixed import ONE
from giusto.guarantee.record import Record
from giusto.guarantee.stages.fair import TICKS
from giusto.guarantee.stages.lanes import Together
from giusto.planning.search import fair
from giusto.planning.search.lanes import Lane, Nothing, Seat, too_much
from giusto.planning.search.problem import Assignment, Problem, laned, refusal
from giusto.protocol import ShareTerms


def seats(problem: Problem, *, hopeful: bool = False) -> list[Seat]:
    """The guarded topics, each with one lane for all of its flows.

    What the last quanta of long messages take more is counted once for each topic, before all else.
    """
    topics = [(record, Together.of(record)) for record in problem.records]
    lumps_ns = sum(together.lump_ns for _, together in topics if together)
    return [seat(problem, *topic, lumps_ns, hopeful=hopeful) for topic in topics]


def seat(
    problem: Problem, record: Record, together: Together | None, lumps_ns: int, *, hopeful: bool
) -> Seat:
    """A topic; one that nobody publishes costs nothing."""
    fixed = problem.given.get(record.name, ShareTerms()).rate
    if together is None or record.promise_ns is None:
        return Seat(record.name, together.quantum_ns if together else 0, (), fixed)
    slowest = max((problem.delays[client] for client in record.streams), key=lambda delay: delay.before_ns)
    lane = Lane(
        count=together.rate,
        period_ns=ONE,
        lag=together.burst,
        fragments=together.quanta,
        budget_ns=record.promise_ns - together.links_ns,
    )
    lane = laned(slowest, lane, hopeful=hopeful)
    lane = lane._replace(less_ns=lane.less_ns + lumps_ns)
    return Seat(record.name, together.quantum_ns, (lane,), fixed)


def with_fair(problem: Problem) -> Assignment | Nothing:
    """The least rates, then the latest virtual deadlines."""
    nothing = problem.hopeless() or too_much(seats(problem, hopeful=True), ahead=1)
    if nothing is not None:
        return nothing
    places = seats(problem)
    given = [problem.given.get(each.topic, ShareTerms()).virtual_deadline for each in places]
    found = fair.least_rates(places, given)
    if isinstance(found, Nothing):
        return replace(found, proved=found.proved and not problem.is_timed)
    shares = rated(places, found)
    objection = problem.objection(shares)
    if objection is not None:
        return refusal(objection, proved=objection.why == "tolerance")
    return Assignment(shares, said(found, cheapest=not problem.is_timed))


def rated(places: Sequence[Seat], found: fair.Rates) -> dict[str, ShareTerms]:
    """The shares; a deadline of 1/rate is the usual one."""
    return {
        each.topic: ShareTerms(rate=rate, virtual_deadline=None if deadline == TICKS // rate else deadline)
        for each, rate, deadline in zip(places, found.rates, found.deadlines, strict=True)
    }


def said(found: fair.Rates, *, cheapest: bool) -> str:
    """What is proved about rates."""
    deadlines = "virtual deadlines as late as they may be"
    if cheapest:
        return f"the cheapest rates: no sum below {sum(found.rates)} holds (proved); {deadlines}"
    return f"rates that hold, with the sum {sum(found.rates)}: a smaller one may exist; {deadlines}"
