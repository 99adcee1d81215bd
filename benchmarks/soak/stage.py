"""Puts a cast on the stage of a live broker, lets it play, and gathers what everybody saw."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Self

from benchmarks.soak.cast import BREAKER, STALLED, Cast
from benchmarks.soak.child import Child, Said
from benchmarks.soak.judge import Contract, Observed, Peak
from benchmarks.soak.stalls import Stall

import giusto

LEAD_NS = 1_000_000_000
LOOK_S = 1.0
PRIORITY = 40
FLOODERS = 2
ROUNDS_MAX = 10


@dataclass(slots=True)
class Found:
    """All that was seen in a run."""

    contracts: list[tuple[Contract, Observed]] = field(default_factory=list)
    peaks: dict[str, list[Peak]] = field(default_factory=dict)
    stalls: list[tuple[str, Stall]] = field(default_factory=list)
    flooded: int = 0
    policed: int = 0
    turned_away: int = 0
    basis: str = ""


class Stage:
    """The processes of a soak around one broker."""

    def __init__(self, cast: Cast, address: str, process: int, hurried: bool) -> None:
        self.cast, self.address, self.process = cast, address, process
        self.priority = PRIORITY if hurried else 0
        self.found = Found()
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._exits.close()

    def _start(self, module: str, name: str, **told: Any) -> Child:
        child = Child(module, name=name, address=self.address, priority=self.priority, **told)
        self._exits.callback(child.end)
        return child

    # --- setting the stage: publishers first, so that the contracts see all of them

    def fill(self) -> None:
        """Everybody connects, advertises and subscribes; returns when all contracts are granted."""
        self.publishers = [self._publisher(name) for name in self.cast.publishers]
        ready(self.publishers)
        told = {"topics": self.cast.stalled_on, "size_bytes": self.cast.flood_bytes}
        parts = [
            ("stall", STALLED),
            ("listen", "audience"),
            *(("flood", f"flooder{n}") for n in range(FLOODERS)),
        ]
        self.nuisances = [self._start("nuisance", name, part=part, **told) for part, name in parts]
        ready(self.nuisances)
        self.subscribers = {
            name: (topic, self._start("subscriber", name, topic=topic, deaf_to=[BREAKER]))
            for topic, count in self.cast.contracts.items()
            for name in (f"{topic.replace('/', '-')}-{n}" for n in range(count))
        }
        ready([child for _, child in self.subscribers.values()])
        self.witnesses = [
            self._start("witness", f"witness{cpu}", cpu=cpu) for cpu in sorted(os.sched_getaffinity(0))
        ]
        ready(self.witnesses)

    def _publisher(self, name: str) -> Child:
        flows = [flow.told() for flow in self.cast.of(name)]
        return self._start("publisher", name, flows=flows, breaks=name == BREAKER)

    def tighten(self, tightness: float) -> None:
        """Each subscriber asks for a latency of which its bound is this part, until nobody gains by it.

        Under `edf` promises decide who goes first, so that a bound changes with them.
        """
        for _ in range(ROUNDS_MAX):
            changed = False
            for _, child in self.subscribers.values():
                child.tell(tightness=tightness)
                changed |= child.hear()["changed"]
            if not changed:
                return

    # --- playing

    def play(self, seconds: float, look: Callable[[float, list[Said]], None]) -> Found:
        """All play for so long; `look` is called every second with what the subscribers last said."""
        start_ns = time.monotonic_ns() + LEAD_NS
        end_ns = start_ns + round(seconds * 1e9)
        granted = self._begin(start_ns, end_ns)
        with giusto.connect(self.address, name="looker") as bus:
            self._look_on(bus, end_ns, look)
            self._gather(granted)
            self._count(bus)
        return self.found

    def _begin(self, start_ns: int, end_ns: int) -> dict[str, Said]:
        children = [*self.publishers, *self.nuisances, *(child for _, child in self.subscribers.values())]
        processes = {"broker": self.process, **{child.name: child.process for child in children}}
        for number, witness in enumerate(self.witnesses):
            # One of them is enough to watch the threads; all watch their CPU.
            witness.tell(end_ns=end_ns, processes={} if number else processes)
        for child in children:
            child.tell(start_ns=start_ns, end_ns=end_ns)
        return {name: child.hear() for name, (_, child) in self.subscribers.items()}

    def _look_on(self, bus: giusto.Bus, end_ns: int, look: Callable[[float, list[Said]], None]) -> None:
        """Looks at the broker's own figures every second."""
        before_ns, begun_ns = time.monotonic_ns(), time.monotonic_ns()
        self.latest: dict[str, Said] = {}
        highest: dict[str, int] = {}
        while before_ns < end_ns:
            time.sleep(LOOK_S)
            topics, now_ns = bus.status().topics, time.monotonic_ns()
            for one in topics:
                if one.delay_max_ns > highest.get(one.topic, 0):
                    highest[one.topic] = one.delay_max_ns
                    peak = Peak(before_ns, now_ns, one.delay_max_ns)
                    self.found.peaks.setdefault(one.topic, []).append(peak)
            before_ns = now_ns
            for name, (_, child) in self.subscribers.items():
                self.latest.update((name, said) for said in child.hear_all()[-1:])
            look((now_ns - begun_ns) / 1e9, list(self.latest.values()))

    # --- what they saw

    def _gather(self, granted: dict[str, Said]) -> None:
        for name, (topic, child) in self.subscribers.items():
            said = self.latest.get(name, {})
            while "done" not in said:
                said = child.hear()
            publishers = tuple(flow.publisher for flow in self.cast.flows if flow.topic == topic)
            self.found.basis = granted[name].pop("basis")
            contract = Contract(subscriber=name, topic=topic, publishers=publishers, **granted[name])
            self.found.contracts.append(
                (contract, Observed(**{k: v for k, v in said.items() if k != "done"}))
            )
        for witness in self.witnesses:
            self._gather_stalls(witness)
        for child in self.publishers:
            said = child.hear()
            if child.name != BREAKER:
                self.found.policed += said["violations"]
        self.found.flooded = sum(child.hear().get("sent", 0) for child in self.nuisances)

    def _gather_stalls(self, witness: Child) -> None:
        said: Said = {}
        while "done" not in said:
            said = witness.hear()
            self.found.stalls += [(who, Stall(*stall)) for who, *stall in said["stalls"]]

    def _count(self, bus: giusto.Bus) -> None:
        """What was turned away; and the stalled subscriber spoils the delays of its topics."""
        counters = {one.topic: one.counters for one in bus.status().topics}
        self.found.turned_away = sum(counters[topic].get("policed", 0) for topic in self.cast.contracts)
        for topic in self.cast.stalled_on:
            self.found.peaks.pop(topic, None)


def ready(children: list[Child]) -> None:
    """Waits until each has said that it is."""
    for child in children:
        child.hear()
