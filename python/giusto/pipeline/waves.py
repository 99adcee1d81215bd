"""How many cases go to Spark at once.

A job costs about 0.1 s and a task some ms, whatever is in them, so several cases make a task. What is under
way when a sweep is killed is lost, so a task is short: 2 s of work, and later 2 % of the time so far, which
keeps the number of files small. Towards the end waves get smaller, so that no core waits long for another.
"""

from __future__ import annotations

import math

# While the last tasks of one wave run, those of the next take the free cores.
IN_FLIGHT = 2
SHORTEST_S, LONGEST_S, PART_OF_ELAPSED = 2.0, 60.0, 0.02
# Below this a task is mostly overhead.
LEAST_S = 0.25
MOST_PER_TASK = 2_000


def wave_size(cores: int, waiting: int, case_s: float | None, elapsed_s: float) -> int:
    """How many of `waiting` cases to send now; `case_s` is what one takes, if that is known yet."""
    if case_s is None:
        return min(waiting, cores)
    full = cores * per_task(min(LONGEST_S, max(SHORTEST_S, PART_OF_ELAPSED * elapsed_s)), case_s)
    least = cores * per_task(LEAST_S, case_s)
    fair_part = math.ceil(waiting / (2 * IN_FLIGHT))
    return min(waiting, max(least, min(full, fair_part)))


def per_task(seconds: float, case_s: float) -> int:
    """How many cases take about so long."""
    return max(1, min(MOST_PER_TASK, int(seconds / max(case_s, 1e-6))))
