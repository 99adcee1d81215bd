"""What is refused would have been late: refused contracts are forced in and meet a malicious world."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from adversary import Steady
from data_thread import DataThread
from drawing import draw
from playing import play, worst
from scene import Flood, Scene

from giusto import _core
from giusto.guarantee.book import Book
from giusto.guarantee.model import Demand, Objection

POLICIES = [name for name, _ in _core.input_policies()]


@pytest.mark.parametrize("policy", POLICIES)
def test_more_than_the_processor_can_do_is_refused_and_would_miss_any_latency(
    policy: str, seed: int, cases: int
) -> None:
    for number in range(3 * cases):
        rng = random.Random(f"{seed} overload {policy} {number}")
        scene = overloaded(draw(rng, policy))
        objection = Book(scene.setting).decide(scene.change)
        assert objection is not None, f"case {number}: load above 1 was granted"
        asked_ns = 200 * max(work_ns(scene).values())
        thread = DataThread(scene, rng)
        log = thread.run(Steady(scene, thread, 12 * asked_ns), 13 * asked_ns)
        late = worst(log, {flow.key for flow in scene.flows})
        assert max(late.values()) > asked_ns, f"case {number}: {late} within {asked_ns}"


def test_many_latencies_below_the_bound_are_missed_when_forced_in(seed: int, cases: int) -> None:
    missed, count = 0, 8 * cases
    for policy in POLICIES:
        for number in range(count):
            rng = random.Random(f"{seed} latency {policy} {number}")
            scene = draw(rng, policy, small=True)
            topic, asked_ns = tightened(scene, rng)
            outcome = play(scene, rng, episodes=12)
            missed += max(ns for key, ns in outcome.worst_ns.items() if key[1] == topic) > asked_ns
    print(f"{missed} of {count * len(POLICIES)} refused latencies were missed")
    assert missed > count * len(POLICIES) / 10


def tightened(scene: Scene, rng: random.Random) -> tuple[str, int]:
    """A topic, and a latency for it that is refused: at most half of the bound of its worst flow.

    Under `edf` a tighter promise moves the topic forward, and may be granted: then less is asked for.
    """
    bounds = scene.bounds()
    topic = rng.choice(sorted({key[1] for key in bounds}))
    bound_ns = max(ns for key, ns in bounds.items() if key[1] == topic)
    asked_ns = round(bound_ns * rng.uniform(0.05, 0.5))
    while (objection := objection_to(scene, topic, asked_ns)) is None:
        asked_ns //= 2
    assert objection.why == "latency"
    return topic, asked_ns


def objection_to(scene: Scene, topic: str, asked_ns: int) -> Objection | None:
    """What admission says to one more contract."""
    demand = Demand(key="refused", client="s0", topic=topic, max_latency_ns=asked_ns)
    change = replace(scene.change, demands=(*scene.change.demands, demand))
    return Book(scene.setting).decide(change)


def work_ns(scene: Scene) -> dict[tuple[str, str], int]:
    """What one message of each flow really takes, without a turn of its own."""
    costs = scene.setting.costs
    quanta = {one.topic: len(scene.subscribers[one.topic]) for one in scene.topics}
    return {
        (one.client, one.topic): costs.take_ns(one.size_bytes)
        + costs.serve_ns(one.size_bytes, quanta[one.topic])
        for one in scene.supplies
    }


def overloaded(scene: Scene) -> Scene:
    """The same flows, so fast that they need 1.4 processors; nobody else is there."""
    work = work_ns(scene)
    load = sum(Fraction(work[flow.key], flow.supply.period_ns) for flow in scene.flows)
    flows = tuple(
        replace(
            flow,
            supply=replace(flow.supply, period_ns=max(1, int(flow.supply.period_ns * load / Fraction(7, 5)))),
        )
        for flow in scene.flows
    )
    change = replace(scene.change, supplies=tuple(flow.supply for flow in flows))
    return replace(scene, flows=flows, change=change, flood=Flood(), violators=frozenset())
