"""The cheapest shares under which a policy holds all that is asked, or why there are none.

    twrr      least weights                                      complete
    smooth    light weights                                      the cheapest if all cheaper ones can be tried
    fair      least rates, then the latest virtual deadlines     complete
    edf       periods and deadlines, from the contracts          as complete as the test behind them

What a search finds goes through the admission of the live broker before it is called an assignment.
"""

from giusto.planning.search.lanes import Nothing
from giusto.planning.search.policies import assigned
from giusto.planning.search.problem import Assignment, filled

__all__ = ["Assignment", "Nothing", "assigned", "filled"]
