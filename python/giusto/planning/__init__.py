"""Planning: which contracts a broker can hold, with which shares, before there is a broker.

    print(giusto.plan("scenario.toml", compare=True))

A scenario names topics, offers and needs; the plan computes the bounds with the admission of the live broker
and chooses the cheapest shares under which all needs hold, or proves that there are none.
"""

from giusto.planning.front import plan
from giusto.planning.result import Compared, Contract, Failure, Plan
from giusto.planning.scenario import Needed, Offered, Scenario
from giusto.planning.writing import configuration

__all__ = [
    "Compared",
    "Contract",
    "Failure",
    "Needed",
    "Offered",
    "Plan",
    "Scenario",
    "configuration",
    "plan",
]
