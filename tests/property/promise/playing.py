"""Plays a scene against an adversary and says how near each flow came to its bound, and what went wrong."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from adversary import Striker
from data_thread import DataThread, Log
from scene import Scene

# Far beyond any bound that is granted: a run that gets there has a backlog that never ends.
LONGEST_RUN_NS = 10**15
Key = tuple[str, str]


@dataclass(slots=True)
class Outcome:
    """The worst of each flow against its bound; `faults` are sentences about promises that were broken."""

    messages: int
    worst_ns: dict[Key, int]
    bounds_ns: dict[Key, int]
    faults: list[str] = field(default_factory=list)

    @property
    def ratio(self) -> Fraction:
        """The largest observed/bound."""
        return max(
            (Fraction(self.worst_ns[key], self.bounds_ns[key]) for key in self.worst_ns), default=Fraction(0)
        )


def play(scene: Scene, rng: random.Random, episodes: int = 6) -> Outcome:
    """One run; flows of clients that do not keep to their offers are left out."""
    thread = DataThread(scene, rng, swift=draw_swiftness(rng))
    striker = Striker(scene, thread, rng, episodes)
    log = thread.run(striker, LONGEST_RUN_NS)
    worst_ns = worst(log, set(scene.honest))
    outcome = Outcome(striker.total, worst_ns, scene.bounds())
    outcome.faults += [
        f"{key}: {late_ns} ns after a bound of {outcome.bounds_ns[key]} ns"
        for key, late_ns in worst_ns.items()
        if late_ns > outcome.bounds_ns[key]
    ]
    outcome.faults += losses(scene, striker, log)
    return outcome


def worst(log: Log, keys: set[Key]) -> dict[Key, int]:
    """The longest way of any message of each flow to any subscriber."""
    found: dict[Key, int] = {}
    for seen in log.seen:
        if seen.flow in keys:
            found[seen.flow] = max(found.get(seen.flow, 0), seen.written_ns - seen.arrived_ns)
    return found


def losses(scene: Scene, striker: Striker, log: Log) -> list[str]:
    """Flows that kept their offer and were policed all the same, or did not reach every subscriber."""
    honest = scene.honest
    reached = Counter(seen.flow for seen in log.seen)
    policed = [f"{key}: {log.refused[key]} policed" for key in honest if key in log.refused]
    wanted = {key: striker.sent[key] * len(scene.subscribers[key[1]]) for key in honest}
    lost = [
        f"{key}: {reached[key]} of {wanted[key]} arrived" for key in honest if reached[key] != wanted[key]
    ]
    return policed + lost


def draw_swiftness(rng: random.Random) -> Callable[[], float] | None:
    """Mostly every action takes as long as it may; sometimes a part of that."""
    kind = rng.random()
    if kind < 0.7:
        return None
    if kind < 0.85:
        return rng.random
    return lambda: 1.0 if rng.random() < 0.8 else rng.random()
