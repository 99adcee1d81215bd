"""The real engine with a scene in it: guarded topics, their flows and their subscribers."""

from __future__ import annotations

from typing import TypeAlias

from scene import Scene
from sockets import Message

from giusto import _core
from giusto.guarantee.model import Supply
from giusto.protocol import ShareTerms

LENIENT_NS = 1_000_000_000
Outgoing: TypeAlias = tuple[tuple[str, str], int, int]


def core_share(share: ShareTerms) -> _core.Share:
    return _core.Share(
        weight=share.weight,
        rate=share.rate,
        virtual_deadline=share.virtual_deadline,
        period_ns=share.period_ns,
        deadline_ns=share.deadline_ns,
    )


class Stage:
    """Names instead of numbers, and what left the engine by subscriber."""

    def __init__(self, scene: Scene) -> None:
        self.engine = _core.Engine(
            input=scene.setting.input,
            fragment_bytes=scene.setting.fragment_bytes,
            message_capacity=1 << 16,
            output_capacity=1 << 16,
        )
        names = {*scene.publishers, *(name for group in scene.subscribers.values() for name in group)}
        self.clients = {name: self.engine.connect(name) for name in sorted(names)}
        self.names = {number: name for name, number in self.clients.items()}
        self.topics = {topic: self._guarded(topic, share) for topic, share in scene.shares().items()}
        self.topic_names = {number: name for name, number in self.topics.items()}
        lenient_ns = LENIENT_NS if scene.trusting else 0
        self.flows = {flow.key: self._flow(flow.supply, lenient_ns) for flow in scene.flows}
        for topic, group in scene.subscribers.items():
            for client in group:
                self.engine.subscribe(self.clients[client], topic)
        self.readers = sorted({name for group in scene.subscribers.values() for name in group})
        self.waiting = 0
        self.made = 0
        self.set_aside: dict[int, int] = {}

    def _guarded(self, topic: str, share: ShareTerms) -> int:
        number = self.engine.declare(topic, core_share(share))
        assert self.engine.guard(number, True)
        return number

    def _flow(self, supply: Supply, lenient_ns: int) -> int:
        assert supply.count == 1
        return self.engine.advertise(
            self.clients[supply.client],
            self.topics[supply.topic],
            capacity=1 << 14,
            max_size_bytes=max(1, supply.size_bytes),
            min_sep_ns=supply.period_ns,
            burst=supply.burst,
            jitter_ns=supply.jitter_ns + lenient_ns,
        )

    def publish(self, now: int, message: Message) -> None:
        """Into the queue of its flow; raises what the engine raises."""
        self.engine.publish(now, self.flows[message.flow], bytes(message.size_bytes), sent_ns=message.at_ns)
        self.waiting += 1

    def step_guarded(self, now: int) -> int | None:
        """One guarded quantum: to how many subscribers it forwarded; None if nothing guarded waits."""
        done = self.engine.step_guarded(now)
        if done is None:
            assert self.waiting == 0, "guarded messages wait and none is served"
            return None
        kind, clients = done
        assert kind in ("forwarded", "fragment"), kind
        if kind == "forwarded":
            self.waiting -= 1
            self.made += clients
        return clients

    def take_guarded(self, now: int) -> dict[str, list[Outgoing]]:
        """What the quanta since the last call made, by subscriber; what is of the rest is set aside."""
        outgoing: dict[str, list[Outgoing]] = {}
        if not self.made:
            return outgoing
        for name in self.readers:
            client = self.clients[name]
            while (delivery := self.engine.take(now, client)) is not None:
                length = len(delivery.payload)
                if delivery.topic not in self.topic_names:
                    self.set_aside[client] = self.set_aside.get(client, 0) + length
                    break
                flow = (self.names[delivery.source], self.topic_names[delivery.topic])
                outgoing.setdefault(name, []).append((flow, delivery.sent_ns, length))
        taken = sum(map(len, outgoing.values()))
        assert taken == self.made, "a guarded message was behind the rest, lost or doubled"
        self.made = 0
        return outgoing
