"""Which search belongs to which policy."""

from __future__ import annotations

from collections.abc import Callable

from giusto.guarantee.model import Setting
from giusto.planning.search.cells import with_smooth, with_twrr
from giusto.planning.search.deadlines import with_edf
from giusto.planning.search.lanes import Nothing
from giusto.planning.search.problem import Assignment, Problem, Shares, refusal
from giusto.planning.search.virtual import with_fair
from giusto.planning.traffic import Traffic

SEARCHES: dict[str, Callable[[Problem], Assignment | Nothing]] = {
    "twrr": with_twrr,
    "smooth": with_smooth,
    "fair": with_fair,
    "edf": with_edf,
}


def assigned(traffic: Traffic, setting: Setting, given: Shares, *, search: bool) -> Assignment | Nothing:
    """Shares under which everything holds: chosen, or as they are given."""
    if not traffic.demands:
        return Assignment({}, "no need asks for a latency: there is nothing to prove")
    problem = Problem(traffic, setting, given)
    return SEARCHES[setting.input](problem) if search else unchanged(problem)


def unchanged(problem: Problem) -> Assignment | Nothing:
    """The shares that are given, and default ones, if they hold."""
    shares = {topic: problem.given[topic] for topic in problem.traffic.fanout if topic in problem.given}
    objection = problem.objection(shares)
    if objection is not None:
        return refusal(objection, proved=True)
    return Assignment(shares, "the shares are as given; others are the defaults")
