"""The contract of the output stage, over every policy of the registry and generated workloads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking import Richest

from giusto import _core

UNIT = 10**9
EPSILON = 0.04
PROCESSING_NS = 2_000_000
POLICIES = _core.output_policies()


@dataclass(frozen=True, slots=True)
class Wish:
    """The fields of one `Terms`, in a form that the checks can read."""

    deadline: int
    price: float
    hops: int
    mean: float
    sigma: float

    def terms(self) -> _core.Terms:
        return _core.Terms(
            deadline_ns=self.deadline * UNIT,
            price=self.price,
            penalty=0.1 * self.price,
            nodenum=self.hops,
            mean_ns_per_kb=self.mean * UNIT,
            variance_ns2_per_kb2=(self.sigma * UNIT) ** 2,
        )


@dataclass(frozen=True, slots=True)
class Push:
    priority: int
    age: int
    timeout: int
    size_kb: int
    wishes: tuple[Wish, ...]


@dataclass(frozen=True, slots=True)
class Pop:
    advance_ns: int


@dataclass(slots=True)
class World:
    """A queue and everything that happened to the messages pushed into it."""

    queue: _core.OutputQueue
    expiry: str
    limit_bytes: int
    now_ns: int = 0
    pushed: dict[int, tuple[_core.Outgoing, Push]] = field(default_factory=dict)
    queued: list[int] = field(default_factory=list)
    gone: dict[int, str] = field(default_factory=dict)

    def leave(self, token: int, how: str) -> None:
        assert token not in self.gone, "a message left twice"
        self.gone[token] = how
        self.queued.remove(token)

    def lose(self, losses: list[tuple[int, str]]) -> None:
        for token, reason in losses:
            self.leave(token, reason)
            if reason == "expired":
                assert self.chance(token) <= 1e-9, "a message expired that could still arrive"

    def chance(self, token: int) -> float:
        """How far the message is above the point where it expires; positive: alive."""
        message, push = self.pushed[token]
        if self.expiry == "none":
            return math.inf
        elapsed_ns = self.now_ns - message.published_ns
        if message.timeout_ns and elapsed_ns > message.timeout_ns:
            return -1.0
        if not push.wishes:
            return 1.0
        if self.expiry == "dead":
            return float(max(wish.deadline * UNIT for wish in push.wishes) - elapsed_ns) + 0.5
        return max(success(wish, push, elapsed_ns) for wish in push.wishes) - EPSILON

    def step(self, action: Push | Pop) -> None:
        if isinstance(action, Push):
            self.push(action)
        else:
            self.pop(action)
        counts = self.queue.counts
        assert len(self.queue) == len(self.queued) <= self.queue.capacity
        assert self.queue.bytes == sum(self.pushed[token][0].size_bytes for token in self.queued)
        assert self.queue.bytes <= self.limit_bytes or len(self.queue) == 1
        assert counts["pushed"] == len(self.pushed)
        assert counts["pushed"] - len(self.queue) == sum(counts.values()) - counts["pushed"]

    def push(self, action: Push) -> None:
        token = len(self.pushed)
        message = _core.Outgoing(
            token,
            published_ns=self.now_ns - action.age * UNIT,
            size_bytes=action.size_kb * 1024,
            priority=action.priority,
            timeout_ns=action.timeout * UNIT,
        )
        has_bytes = self.queue.bytes + message.size_bytes <= self.limit_bytes or not self.queued
        was_full = len(self.queue) == self.queue.capacity or not has_bytes
        outcome, lost = self.queue.push(self.now_ns, message, [wish.terms() for wish in action.wishes])
        self.pushed[token] = (message, action)
        self.queued.append(token)
        self.lose(lost)
        assert was_full or not lost, "a message was lost although there was room"
        assert (outcome == "queued") == (self.gone.get(token) != "refused")

    def pop(self, action: Pop) -> None:
        self.now_ns += action.advance_ns
        message, lost = self.queue.pop(self.now_ns)
        self.lose(lost)
        if message is None:
            assert not self.queued, "nothing was sent although a live message waited"
            return
        expected, push = self.pushed[message.token]
        assert message == expected
        assert self.chance(message.token) >= -1e-9, "an expired message was sent"
        twins = [token for token in self.queued if same_key(self.pushed[token], (expected, push))]
        assert twins[0] == message.token, "a message overtook an equal one"
        self.leave(message.token, "popped")


def same_key(one: tuple[_core.Outgoing, Push], other: tuple[_core.Outgoing, Push]) -> bool:
    return one[1] == other[1] and one[0].published_ns == other[0].published_ns


def success(wish: Wish, push: Push, elapsed_ns: int) -> float:
    """(7) of S1, in floating point."""
    allowed_ns = min(wish.deadline, push.timeout or wish.deadline) * UNIT
    slack_ns = allowed_ns - elapsed_ns - wish.hops * PROCESSING_NS - wish.mean * UNIT * push.size_kb
    spread_ns = wish.sigma * UNIT * push.size_kb
    if spread_ns == 0:
        return 1.0 if slack_ns >= -1 else 0.0
    return 0.5 * math.erfc(-slack_ns / spread_ns / math.sqrt(2))


WISHES = st.builds(
    Wish,
    deadline=st.sampled_from([20, 24, 30, 40, 60]),
    price=st.sampled_from([3.0, 2.5, 2.0, 1.0]),
    hops=st.integers(0, 6),
    mean=st.sampled_from([0.0, 0.04, 0.3]),
    sigma=st.sampled_from([0.0, 0.02, 0.05]),
)
PUSHES = st.builds(
    Push,
    priority=st.integers(0, 7),
    age=st.integers(0, 10),
    timeout=st.sampled_from([0, 0, 5, 50]),
    size_kb=st.sampled_from([0, 1, 50]),
    wishes=st.lists(WISHES, max_size=3).map(tuple),
)
POPS = st.builds(Pop, advance_ns=st.integers(0, 4 * UNIT) | st.just(0))
# Few kinds of message, so that equal ones meet in the queue.
ACTIONS = st.lists(PUSHES, min_size=1, max_size=4).flatmap(
    lambda kinds: st.lists(st.sampled_from(kinds) | POPS, min_size=1, max_size=60)
)


@pytest.mark.parametrize("policy", [*POLICIES, Richest])
@settings(max_examples=250, deadline=None)
@given(
    actions=ACTIONS,
    capacity=st.integers(1, 12),
    limit_bytes=st.integers(0, 200_000) | st.just(2**40),
    overflow=st.sampled_from(["drop_oldest", "drop_new", "disconnect"]),
    expiry=st.sampled_from(["none", "dead", "eps"]),
)
def test_every_policy_keeps_the_contract(
    policy: str | type[Richest],
    actions: list[Push | Pop],
    capacity: int,
    limit_bytes: int,
    overflow: str,
    expiry: str,
) -> None:
    queue = _core.OutputQueue(
        policy,
        capacity=capacity,
        limit_bytes=limit_bytes,
        overflow=overflow,
        expiry=expiry,
        epsilon=EPSILON,
        processing_delay_ns=PROCESSING_NS,
        mean_transmission_ns=UNIT,
    )
    world = World(queue, expiry, limit_bytes)
    for action in actions:
        world.step(action)
    while world.queued:
        world.step(Pop(0))
    assert set(world.gone) == set(world.pushed)
    if overflow != "drop_oldest":
        assert "evicted" not in world.gone.values()
    else:
        assert "refused" not in world.gone.values()
    if expiry == "none":
        assert "expired" not in world.gone.values()


@given(st.lists(st.tuples(st.integers(0, 20), st.lists(st.integers(1, 9), max_size=3)), max_size=30))
def test_lrt_sends_by_mean_remaining_time_then_arrival(messages: list[tuple[int, list[int]]]) -> None:
    queue = _core.OutputQueue("lrt", expiry="none", capacity=30)
    for token, (published_ns, deadlines) in enumerate(messages):
        terms = [_core.Terms(deadline_ns=6 * deadline) for deadline in deadlines]
        queue.push(0, _core.Outgoing(token, published_ns=6 * published_ns), terms)

    def due(token: int) -> float:
        published_ns, deadlines = messages[token]
        # A multiple of 6, so that the mean of up to three deadlines is whole.
        return 6 * published_ns + 6 * sum(deadlines) // len(deadlines) if deadlines else math.inf

    assert drain(queue) == sorted(range(len(messages)), key=due)


@given(st.lists(st.integers(0, 7), max_size=30))
def test_priority_sends_by_level_then_arrival(levels: list[int]) -> None:
    queue = _core.OutputQueue("priority", capacity=30)
    for token, level in enumerate(levels):
        queue.push(0, _core.Outgoing(token, published_ns=0, priority=level))
    assert drain(queue) == sorted(range(len(levels)), key=lambda token: -levels[token])


def drain(queue: _core.OutputQueue) -> list[int]:
    """The tokens of all messages, in the order in which they are sent at one instant."""
    tokens = []
    while (message := queue.pop(0)[0]) is not None:
        tokens.append(message.token)
    return tokens
