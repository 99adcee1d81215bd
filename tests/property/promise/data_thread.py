"""Plays the data thread of a broker on the real engine, in virtual time: what it does next, and how long.

The order of a turn is that of the server (docs/reference/broker-data-plane.md): read urgent clients, spend
guarded quanta, flush what they made, again while guarded work is there, else one slice of the rest. Every
action lasts as long as `Costs` allows, or a part of that if the work is `swift`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from rest import Rest
from scene import PROBATION_NS, READ_BYTES, Scene
from sockets import Message, Sockets
from stage import Stage

from giusto.errors import Policed, QueueFull

FOREVER = 1 << 62


class Adversary(Protocol):
    """Decides who sends when, knowing all that the thread does."""

    def saw(self, event: str, now: int) -> None: ...

    @property
    def is_done(self) -> bool: ...


class Seen(NamedTuple):
    """A message of a guarded topic that was written to one subscriber."""

    flow: tuple[str, str]
    arrived_ns: int
    written_ns: int


@dataclass(slots=True)
class Log:
    """What became of the messages of guarded topics."""

    seen: list[Seen] = field(default_factory=list)
    refused: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    unread_ns: dict[str, int] = field(default_factory=lambda: defaultdict(int))


class DataThread:
    """One broker with its sockets; `run` plays until the adversary is done and nothing guarded is left."""

    def __init__(self, scene: Scene, rng: random.Random, *, swift: Callable[[], float] | None = None) -> None:
        self.scene, self.rng, self.swift = scene, rng, swift
        self.setting, self.costs = scene.setting, scene.setting.costs
        self.now = 0
        self.log = Log()
        self.sockets = Sockets(scene.publishers)
        self.stage = Stage(scene)
        self.rest = Rest(scene, self.stage, self)
        self.adversary: Adversary | None = None
        self.probation: dict[str, int] = {}
        self.start_ns, self.end_ns = 0, FOREVER

    # --- time

    def spend(self, cost_ns: int) -> None:
        """An action that takes so long, or a part of it."""
        self.now += cost_ns if self.swift is None else int(cost_ns * self.swift())

    def tell(self, event: str) -> None:
        """The adversary may send at this very instant."""
        if self.adversary is not None:
            self.adversary.saw(event, self.now)

    # --- running

    def run(self, adversary: Adversary, until_ns: int) -> Log:
        """Turns until all has been said and forwarded, at the latest until `until_ns`."""
        self.adversary = adversary
        while self.now < until_ns and not (adversary.is_done and self.is_quiet()):
            if self.setting.period_ns:
                self.period()
            else:
                self.turn()
                self.doze(FOREVER)
        return self.log

    def is_quiet(self) -> bool:
        return not self.sockets.has_any() and self.stage.waiting == self.stage.made == 0

    def period(self) -> None:
        """A polling server: turns from the start of a period until its budget is spent or nothing is left."""
        period_ns, arrival_ns = self.setting.period_ns, self.sockets.next_ns()
        if arrival_ns is not None and not self.stage.waiting and not self.sockets.has_any_now(self.now):
            # Nothing comes in the periods before that one.
            self.now = max(self.now, arrival_ns - 2 * period_ns)
        # A period that began while the last one was still served is served at once, while its budget lasts.
        start_ns = self.now // period_ns * period_ns
        is_due = start_ns > self.start_ns and self.now < start_ns + self.setting.budget_ns
        self.start_ns = start_ns if is_due else start_ns + period_ns
        self.now = max(self.now, self.start_ns)
        self.end_ns = self.start_ns + self.setting.budget_ns
        while self.turn() and self.now < self.end_ns:
            self.doze(self.end_ns)
        self.end_ns = FOREVER

    def doze(self, end_ns: int) -> None:
        """Skips time in which only the rest would be served, or nothing: how it is spent changes nothing."""
        if self.stage.waiting or self.stage.made or self.sockets.has_any_now(self.now):
            return
        self.tell("idle")
        arrival_ns = self.sockets.next_ns()
        if arrival_ns is not None:
            early = self.rng.randrange(2 * self.setting.slice_ns) if self.scene.flood.publishers else 0
            self.now = max(self.now, min(end_ns, arrival_ns - early))
        elif not self.scene.flood.publishers:
            self.now = min(end_ns, self.now + self.costs.turn_ns)

    # --- a turn

    def turn(self) -> bool:
        """One turn; whether there was something to do."""
        self.spend(self.costs.turn_ns)
        ready = self.urgent()
        for client in self.rng.sample(ready, len(ready)):
            self.read(client, self.scene.portion_bytes(client))
            self.tell("read")
        stepped = self.steps()
        self.tell("steps")
        self.flush()
        self.tell("flush")
        if ready or stepped or self.stage.made:
            return True
        return self.rest.serve_slice()

    def urgent(self) -> list[str]:
        """Clients of guarded flows that have sent something, but for those who broke an offer lately."""
        self.probation = {client: until for client, until in self.probation.items() if until > self.now}
        ready = self.sockets.ready(self.now)
        return [client for client in ready if client not in self.probation]

    def read(self, client: str, most_bytes: int = READ_BYTES) -> None:
        """One read of a socket: whole messages go into the engine, with the time at which the read began."""
        began_ns, cost_ns, policed = self.now, 0, 0
        messages, partial_bytes = self.sockets.take(client, most_bytes, self.now)
        for message in messages:
            self.log.unread_ns[client] = max(self.log.unread_ns[client], began_ns - message.at_ns)
            if self.enter(began_ns, message):
                cost_ns += self.costs.take_ns(message.size_bytes)
            else:
                policed += 1
        cost_ns -= (-partial_bytes * self.costs.take.byte_ps) // 1_000
        if policed:
            cost_ns += self.costs.take.fixed_ns + policed * self.costs.frame_ns
            self.probation[client] = began_ns + PROBATION_NS
        self.spend(cost_ns)

    def enter(self, now: int, message: Message) -> bool:
        """Offers a message to the policer and the input stage; whether it was taken."""
        try:
            self.stage.publish(now, message)
        except (Policed, QueueFull):
            self.log.refused[message.flow] += 1
            return False
        return True

    def steps(self) -> bool:
        """Guarded quanta, up to the number of one turn."""
        for done in range(self.setting.turn_steps):
            clients = self.stage.step_guarded(self.now)
            if clients is None:
                return done > 0
            self.spend(self.costs.step.fixed_ns + clients * self.costs.deliver.fixed_ns)
            self.tell("step")
        return True

    def flush(self) -> None:
        """One write to each subscriber of all that the guarded quanta made for it."""
        outgoing = self.stage.take_guarded(self.now)
        for client in self.rng.sample(sorted(outgoing), len(outgoing)):
            batch = outgoing[client]
            self.spend(sum(self.costs.write.ns(size_bytes) for _, _, size_bytes in batch))
            self.log.seen += [Seen(flow, sent_ns, self.now) for flow, sent_ns, _ in batch]
