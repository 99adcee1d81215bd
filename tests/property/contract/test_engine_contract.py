"""The engine under random sequences of primitives: every message ends once, and nothing is left over.

A model keeps who should receive what. Subscriptions change only when nothing waits for the input
stage, so that the model knows the receivers of a message when it is published.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from giusto import _core
from giusto.errors import InvalidInput
from seeds import seeds

TOPICS = ["a", "a/b", "a/c", "d"]
PATTERNS = [*TOPICS, "a/+", "a/#", "#", "+"]


@dataclass
class Model:
    """What should be true of an engine."""

    engine: _core.Engine
    rng: random.Random
    clients: dict[int, str] = field(default_factory=dict)
    topics: dict[int, str] = field(default_factory=dict)
    flows: dict[int, tuple[int, int]] = field(default_factory=dict)
    subscriptions: dict[int, tuple[int, str]] = field(default_factory=dict)
    owed: dict[int, Counter[bytes]] = field(default_factory=dict)
    published: int = 0
    abandoned: int = 0
    received: int = 0
    names: int = 0

    def connect(self) -> None:
        self.names += 1
        client = self.engine.connect(f"client {self.names}")
        assert client not in self.clients
        self.clients[client] = f"client {self.names}"
        self.owed[client] = Counter()

    def declare(self) -> None:
        free = [name for name in TOPICS if name not in self.topics.values()]
        if free:
            name = self.rng.choice(free)
            self.topics[self.engine.declare(name, _core.Share(weight=self.rng.randint(1, 5)))] = name

    def allot(self) -> None:
        if self.topics:
            self.engine.allot(self.rng.choice(list(self.topics)), _core.Share(weight=self.rng.randint(1, 5)))

    def guard(self) -> None:
        if self.topics:
            guarded = self.rng.random() < 0.5
            is_so = self.engine.guard(self.rng.choice(list(self.topics)), guarded)
            assert is_so or not guarded

    def advertise(self) -> None:
        if self.clients and self.topics:
            pair = self.rng.choice(list(self.clients)), self.rng.choice(list(self.topics))
            if pair not in self.flows.values():
                flow = self.engine.advertise(*pair, capacity=100)
                assert flow not in self.flows
                self.flows[flow] = pair

    def unadvertise(self) -> None:
        if self.flows:
            flow = self.rng.choice(list(self.flows))
            self.engine.unadvertise(flow)
            del self.flows[flow]

    def forget(self) -> None:
        if self.topics:
            topic = self.rng.choice(list(self.topics))
            self.pump()
            if any(used == topic for _, used in self.flows.values()):
                with pytest.raises(InvalidInput):
                    self.engine.forget(topic)
            else:
                self.engine.forget(topic)
                del self.topics[topic]

    def subscribe(self) -> None:
        if self.clients:
            self.pump()
            client, pattern = self.rng.choice(list(self.clients)), self.rng.choice(PATTERNS)
            subscription = self.engine.subscribe(client, pattern)
            assert subscription not in self.subscriptions
            self.subscriptions[subscription] = (client, pattern)

    def unsubscribe(self) -> None:
        if self.subscriptions:
            self.pump()
            subscription = self.rng.choice(list(self.subscriptions))
            self.engine.unsubscribe(subscription)
            del self.subscriptions[subscription]

    def disconnect(self) -> None:
        if self.clients:
            self.pump()
            client = self.rng.choice(list(self.clients))
            self.engine.disconnect(client)
            del self.clients[client]
            self.flows = {flow: pair for flow, pair in self.flows.items() if pair[0] != client}
            self.subscriptions = {n: s for n, s in self.subscriptions.items() if s[0] != client}
            self.abandoned += self.owed.pop(client).total()

    def publish(self) -> None:
        if self.flows:
            flow = self.rng.choice(list(self.flows))
            payload = b"%d" % self.published
            self.engine.publish(self.published, flow, payload, priority=self.rng.choice([0, 0, 5]))
            self.published += 1
            name = self.topics[self.flows[flow][1]]
            for client in {c for c, p in self.subscriptions.values() if _core.topic_matches(p, name)}:
                self.owed[client][payload] += 1

    def step(self) -> None:
        before = self.engine.waiting_guarded
        step = self.engine.step(self.published)
        ended = before > 0 and step is not None and step[0] != "fragment"
        assert self.engine.waiting_guarded == before - ended

    def pump(self) -> None:
        while self.engine.step(self.published) is not None:
            pass

    def take(self) -> None:
        if self.clients:
            client = self.rng.choice(list(self.clients))
            delivery = self.engine.take(self.published, client)
            if delivery is not None:
                assert self.owed[client][delivery.payload] == 1
                del self.owed[client][delivery.payload]
                self.received += 1

    def drain(self) -> None:
        self.pump()
        for client in self.clients:
            while (delivery := self.engine.take(self.published, client)) is not None:
                assert self.owed[client].pop(delivery.payload) == 1
                self.received += 1

    def check(self) -> None:
        counters = self.engine.counters()
        assert counters["ingested"] == self.published
        assert counters["selected"] + self.engine.waiting == self.published
        assert self.engine.waiting_guarded <= self.engine.waiting
        views = self.engine.views()
        assert views["topics"] == [self.topics[n] for n in sorted(self.topics)]
        assert views["clients"] == [self.clients[n] for n in sorted(self.clients)]
        open_flows = sum(map(sum, views["matrix_in"]))
        assert open_flows == len(self.flows)


ACTIONS = [Model.connect, Model.declare, Model.advertise, Model.subscribe, Model.allot, Model.forget]
ACTIONS += [Model.unadvertise, Model.unsubscribe, Model.disconnect, Model.guard, Model.guard]
ACTIONS += [Model.publish] * 8 + [Model.step] * 5 + [Model.take] * 3 + [Model.advertise, Model.subscribe] * 2


@pytest.mark.parametrize("policy", [name for name, _ in _core.input_policies()])
def test_every_message_ends_once_and_nothing_is_left_over(policy: str) -> None:
    for seed in seeds(100):
        model = Model(
            _core.Engine(input=policy, output_capacity=10_000, fragment_bytes=64), random.Random(seed)
        )
        for _ in range(150):
            model.rng.choice(ACTIONS)(model)
            model.check()
        model.drain()
        assert all(not owed for owed in model.owed.values()), f"{seed=}"
        assert model.engine.stored == 0, f"{seed=}"
        counters = model.engine.counters()
        assert counters["delivered"] >= model.received, f"{seed=}"
        assert (counters["abandoned"] > 0) == (model.abandoned > 0), f"{seed=}"
