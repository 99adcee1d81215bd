"""Who sends when, to make messages as late as they can be: bursts at the worst instants, within the offers.

An episode is a list of strikes. Each waits for an event of the data thread (a socket has just been read, a
quantum is just over, a slice of the rest or a call has just begun) and then lets some flows send a train of
messages: as greedily as their offers allow, or in a period of their own that drifts against the others.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from data_thread import DataThread
from scene import Flow, Scene

from giusto import _core

EVENTS = ("read", "step", "steps", "flush", "slice", "call", "idle")
# An event that a scene does not have must not stop the run.
PATIENCE = 400


@dataclass(slots=True)
class Strike:
    """At the `count`-th next `event`, `trains` of (flow, messages, ns after it, period or 0 for greedy)."""

    event: str
    count: int
    trains: list[tuple[Flow, int, int, int]]
    junk: dict[str, int]


class Source:
    """One publisher's flow: its own bucket says when the next message may be sent."""

    def __init__(self, flow: Flow, pushes: bool = False) -> None:
        supply = flow.supply
        jitter_ns = supply.jitter_ns if pushes else flow.jitter_ns
        self.bucket = _core.Policer(min_sep_ns=supply.period_ns, burst=supply.burst, jitter_ns=jitter_ns)
        self.last_ns = 0

    def next_ns(self, earliest_ns: int) -> int:
        """The first instant from `earliest_ns` on at which a message keeps the offer; it is sent."""
        at_ns = max(earliest_ns, self.last_ns, self.bucket.next_conforming_ns)
        assert self.bucket.conforms(at_ns)
        self.last_ns = at_ns
        return at_ns


class Striker:
    """Plays episodes; done when all have been played."""

    def __init__(self, scene: Scene, thread: DataThread, rng: random.Random, episodes: int) -> None:
        self.scene, self.thread, self.rng = scene, thread, rng
        self.sources = {flow.key: Source(flow, flow.supply.client in scene.pushers) for flow in scene.flows}
        self.sent: Counter[tuple[str, str]] = Counter()
        self._episodes = episodes
        self._strikes: list[Strike] = []
        self._patience = PATIENCE

    @property
    def total(self) -> int:
        """Messages that kept their offers."""
        return sum(self.sent.values())

    @property
    def is_done(self) -> bool:
        return self._episodes == 0 and not self._strikes

    def saw(self, event: str, now: int) -> None:
        if not self._strikes:
            # The next episode meets a bus at rest, so that all bursts are there again, or one in full swing.
            if self._episodes and (event == "idle" or self.rng.random() < 0.02):
                self._episodes -= 1
                self._strikes = self._plan()
                self._patience = PATIENCE
            return
        strike = self._strikes[0]
        self._patience -= 1
        strike.count -= event == strike.event
        if strike.count <= 0 or self._patience <= 0:
            self._strikes.pop(0)
            self._play(strike, now)

    def _plan(self) -> list[Strike]:
        """One to three strikes; most begin in a slice of the rest or behind a call, when they hurt most."""
        rng, strikes = self.rng, []
        flows = list(self.scene.flows)
        rng.shuffle(flows)
        groups = self._grouped(flows, rng.choice((1, 1, 2, 3)))
        first = rng.choice(("slice", "slice", "call", *EVENTS))
        for number, group in enumerate(groups):
            event = first if number == 0 else rng.choice(("read", "read", "step", "steps", "slice"))
            if event == "call":
                self.thread.rest.calls += 1
            drift = rng.random() < 0.15
            trains = [self._train(flow, drift) for flow in group]
            strikes.append(Strike(event, rng.choice((1, 1, 1, 2, 5)), trains, self._junk()))
        return strikes

    def _grouped(self, flows: Sequence[Flow], parts: int) -> list[Sequence[Flow]]:
        cuts = sorted(self.rng.randrange(len(flows) + 1) for _ in range(parts - 1))
        return [flows[start:end] for start, end in zip([0, *cuts], [*cuts, len(flows)], strict=True)]

    def _train(self, flow: Flow, drift: bool) -> tuple[Flow, int, int, int]:
        supply, rng = flow.supply, self.rng
        pushes = supply.client in self.scene.pushers
        burst = supply.burst + (supply if pushes else flow).jitter_ns // supply.period_ns
        messages = rng.choice((1, burst, burst + 1, burst + rng.randrange(1, 8)))
        if rng.random() < 0.05:
            messages += 100
        offset_ns = rng.choice((0, 0, 0, 1, rng.randrange(1, 50_000)))
        period_ns = supply.period_ns + rng.randrange(supply.period_ns // 10 + 2) if drift else 0
        return flow, messages, offset_ns, period_ns

    def _junk(self) -> dict[str, int]:
        """Messages beyond their offers of clients that break theirs."""
        return {client: self.rng.randrange(1, 400) for client in self.scene.violators}

    def _play(self, strike: Strike, now: int) -> None:
        for flow, messages, offset_ns, period_ns in strike.trains:
            source, at_ns = self.sources[flow.key], now + offset_ns
            for _ in range(messages):
                at_ns = source.next_ns(at_ns)
                self.thread.sockets.send(at_ns, *flow.key, flow.supply.size_bytes)
                self.sent[flow.key] += 1
                at_ns += period_ns
        for client, messages in strike.junk.items():
            topic = next(flow.supply.topic for flow in self.scene.flows if flow.supply.client == client)
            for _ in range(messages):
                self.thread.sockets.send(now, client, topic, 1)


class Steady:
    """Every flow at its full rate, all in step, for so long."""

    def __init__(self, scene: Scene, thread: DataThread, until_ns: int) -> None:
        for flow in scene.flows:
            source, at_ns = Source(flow), 0
            while (at_ns := source.next_ns(at_ns)) < until_ns:
                thread.sockets.send(at_ns, *flow.key, flow.supply.size_bytes)

    @property
    def is_done(self) -> bool:
        return True

    def saw(self, event: str, now: int) -> None:
        """Nothing changes its mind."""
