"""Periods and deadlines for `edf`: the latest ones, beside which no others need to be looked at.

A later deadline means less demand at every t of (E1), for its own topic and for all others. A longer
distance of tags brings the deadline of a topic forward by as much as it spreads a burst, so that the demand
up to any t is never less than with the shortest distance. So if admission refuses the shortest distances
and the latest deadlines that the promises allow, it refuses all others: the refusal is a proof, if it has a
t to show.
"""

from __future__ import annotations

from giusto.guarantee.blocking import Delay
from giusto.guarantee.model import Objection
from giusto.guarantee.stages.edf import Edf, common_ns
from giusto.planning.search.lanes import Nothing
from giusto.planning.search.problem import Assignment, Problem, refusal
from giusto.protocol import ShareTerms

CLAIM = "the latest deadlines that the promises allow: all others demand as much or more (proved)"


def with_edf(problem: Problem) -> Assignment | Nothing:
    """The shares that follow from the contracts, or those that are given."""
    nothing = problem.hopeless()
    if nothing is not None:
        return nothing
    shares = {topic: problem.book.wanted(topic) or ShareTerms() for topic in problem.traffic.fanout}
    objection = problem.objection(shares)
    if objection is None:
        return Assignment(shares, CLAIM)
    return refusal(objection, proved=is_proved(problem, objection))


def is_proved(problem: Problem, objection: Objection) -> bool:
    """Whether no other shares could be granted; lines and a search that was cut short prove nothing."""
    if objection.why != "latency":
        return True
    delay, stage = next(iter(problem.delays.values()), None), problem.book.stage
    return delay is not None and isinstance(stage, Edf) and misses(stage, delay)


def misses(stage: Edf, delay: Delay) -> bool:
    """Whether a deadline itself is a t at which more must be done than can be."""
    if stage.broken:
        return True
    before_ns = common_ns(delay)
    return any(not fits(stage, delay, task.deadline_ns - before_ns) for task in stage.tasks)


def fits(stage: Edf, delay: Delay, t: int) -> bool:
    """(E1) at t; in windows with the time that it takes at least."""
    before_ns = common_ns(delay)
    demand_ns = sum(
        task.demand_ns(t - task.deadline_ns + before_ns)
        for task in stage.tasks
        if task.deadline_ns - before_ns <= t
    )
    return t > 0 and delay.pace.time_ns(delay.reading_ns + demand_ns) <= t
