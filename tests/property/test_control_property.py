"""Whatever clients do, each knows the names that it needs, and the counts that it heard last are true."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from giusto import _core
from giusto.broker.tree import TopicTree
from giusto.protocol import (
    Advertise,
    Advertised,
    Failed,
    Matched,
    SourceIs,
    Subscribe,
    Subscribed,
    TopicIs,
    Unadvertise,
    Unsubscribe,
)

sys.path.append(str(Path(__file__).parents[1] / "unit" / "broker"))

from recording import Bench

LEVELS = ["a", "b", "c"]
PATTERN_LEVELS = [*LEVELS, "+"]


def topic(chance: Random) -> str:
    return "/".join(chance.choices(LEVELS, k=chance.randint(1, 3)))


def pattern(chance: Random) -> str:
    levels = chance.choices(PATTERN_LEVELS, k=chance.randint(1, 3))
    return "/".join([*levels, "#"] if chance.random() < 0.3 else levels)


class Peer:
    """What one client has and what it heard."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.flows: dict[int, str] = {}
        self.subscriptions: dict[int, str] = {}
        self.topics: dict[int, str] = {}
        self.sources: dict[int, str] = {}
        self.counts: dict[tuple[str, int], int] = {}

    def hears(self, notices: list[Any]) -> None:
        for notice in notices:
            match notice:
                case TopicIs(number=number, name=name):
                    self.topics[number] = name
                case SourceIs(number=number, name=name):
                    self.sources[number] = name
                case Matched(count=count, flow=None, subscription=number):
                    self.counts["subscription", number] = count
                case Matched(count=count, flow=number):
                    self.counts["flow", number] = count
                case Advertised(flow=number, subscribers=count):
                    self.counts["flow", number] = count
                case Subscribed(subscription=number, publishers=count):
                    self.counts["subscription", number] = count


class World:
    """A control plane and clients that do things at random."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.bench = Bench()
        self.peers: dict[int, Peer] = {}
        self.next_conn = 0

    def act(self) -> None:
        actions = [
            self.arrive,
            self.advertise,
            self.subscribe,
            self.unadvertise,
            self.unsubscribe,
            self.leave,
        ]
        self.chance.choices(actions, [2, 6, 6, 3, 3, 1])[0]()
        if self.chance.random() < 0.1:
            self.bench.control.forget_vacant()
        for conn, peer in self.peers.items():
            peer.hears(self.bench.heard(conn))

    def arrive(self) -> None:
        self.next_conn += 1
        self.bench.client(self.next_conn, name := f"peer-{self.next_conn}")
        self.peers[self.next_conn] = Peer(name)

    def leave(self) -> None:
        if self.peers:
            conn = self.chance.choice(list(self.peers))
            del self.peers[conn]
            self.bench.plane.hangs_up(conn, said=self.chance.random() < 0.5)
            self.bench.control.turn(0)

    def advertise(self) -> None:
        name = topic(self.chance)
        for peer, answer in self.ask(lambda peer: Advertise(id=1, topic=name)):
            if not isinstance(answer, Failed):
                peer.flows[answer.flow] = name

    def subscribe(self) -> None:
        covered = pattern(self.chance)
        for peer, answer in self.ask(lambda peer: Subscribe(id=1, pattern=covered)):
            peer.subscriptions[answer.subscription] = covered

    def unadvertise(self) -> None:
        self.end("flows", lambda number: Unadvertise(id=1, flow=number))

    def unsubscribe(self) -> None:
        self.end("subscriptions", lambda number: Unsubscribe(id=1, subscription=number))

    def end(self, what: str, request: Any) -> None:
        owners = [peer for peer in self.peers.values() if getattr(peer, what)]
        if owners:
            peer = self.chance.choice(owners)
            number = self.chance.choice(list(getattr(peer, what)))
            list(self.ask(lambda _: request(number), peer))
            del getattr(peer, what)[number]
            peer.counts.pop((what.removesuffix("s"), number), None)

    def ask(self, request: Any, peer: Peer | None = None) -> list[tuple[Peer, Any]]:
        """A request of one client, a random one unless told; with what it was answered."""
        if not self.peers:
            return []
        conns = [conn for conn, each in self.peers.items() if peer is None or each is peer]
        conn = self.chance.choice(conns)
        heard = self.bench.ask(conn, request(peer))
        self.peers[conn].hears(heard)
        (answer,) = (each for each in heard if getattr(each, "id", None) == 1)
        return [(self.peers[conn], answer)]

    # --- what must be true; clients that left unnoticed may still be counted

    def check(self) -> None:
        self.bench.control.turn(0)
        known = self.bench.control.registry
        for conn in set(known.clients) - set(self.peers):
            self.bench.control.handle(("closed", conn, "noticed"))
        self.bench.control.turn(0)
        for conn, peer in self.peers.items():
            peer.hears(self.bench.heard(conn))
        for peer in self.peers.values():
            self.check_peer(peer)

    def check_peer(self, peer: Peer) -> None:
        topics, clients = self.bench.control.registry.topics, self.bench.control.registry.clients
        for number, covered in peer.subscriptions.items():
            publishers = 0
            for conn, other in self.peers.items():
                for name in other.flows.values():
                    if _core.topic_matches(covered, name):
                        publishers += 1
                        assert peer.topics[topics[name].number] == name
                        assert peer.sources[clients[conn].number] == other.name
            assert peer.counts["subscription", number] == publishers
        for number, name in peer.flows.items():
            patterns = [each for other in self.peers.values() for each in other.subscriptions.values()]
            subscribers = sum(_core.topic_matches(each, name) for each in patterns)
            assert peer.counts["flow", number] == subscribers


@given(st.integers(0, 2**32), st.integers(1, 60))
def test_names_are_known_and_counts_are_true(seed: int, actions: int) -> None:
    world = World(seed)
    for _ in range(actions):
        world.act()
    world.check()


@given(st.randoms(use_true_random=False), st.integers(0, 40))
def test_the_tree_covers_what_the_core_matches(chance: Random, count: int) -> None:
    tree, names = TopicTree(), set()
    for _ in range(count):
        name = topic(chance)
        if name in names and chance.random() < 0.5:
            tree.remove(name)
            names.discard(name)
        else:
            tree.add(name)
            names.add(name)
    covered = pattern(chance)
    assert sorted(tree.covered(covered)) == sorted(
        name for name in names if _core.topic_matches(covered, name)
    )
