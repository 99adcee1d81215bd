"""No message under contract is later than its bound, whatever others do: the real core in virtual time."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from adversary import Steady
from data_thread import DataThread
from drawing import draw
from playing import LONGEST_RUN_NS, play, worst

from giusto import _core

POLICIES = [name for name, _ in _core.input_policies()]
# A bound that no world comes near is worth little. What is reached is more: 0.4 to 0.6, time-driven 0.9.
LEAST_RATIO = Fraction(1, 20)
MESSAGES = 1_000


@pytest.mark.parametrize("mode", ["load", "time"])
@pytest.mark.parametrize("policy", POLICIES)
def test_no_message_is_later_than_its_bound(policy: str, mode: str, seed: int, cases: int) -> None:
    largest, messages = Fraction(0), 0
    count = (30 if mode == "load" else 12) * cases
    for number in range(count):
        case = f"{seed} {policy} {mode} {number}"
        rng = random.Random(case)
        scene = draw(rng, policy, timed=mode == "time", small=number % 3 == 0)
        outcome = play(scene, rng)
        assert not outcome.faults, f"case {case}: {outcome.faults}"
        largest = max(largest, outcome.ratio)
        messages += outcome.messages
    print(
        f"{policy}, {mode}-driven: {count} scenes, {messages} messages, observed/bound {float(largest):.3f}"
    )
    assert largest > LEAST_RATIO


@pytest.mark.parametrize("mode", ["load", "time"])
@pytest.mark.parametrize("policy", POLICIES)
def test_flows_that_are_all_at_their_full_rate_for_long_keep_their_bounds(
    policy: str, mode: str, seed: int, cases: int
) -> None:
    for number in range(3 * cases):
        case = f"{seed} steady {policy} {mode} {number}"
        rng = random.Random(case)
        scene = draw(rng, policy, timed=mode == "time", small=True)
        thread = DataThread(scene, rng)
        span_ns = int(MESSAGES / sum(Fraction(1, one.period_ns) for one in scene.supplies))
        log = thread.run(Steady(scene, thread, span_ns), LONGEST_RUN_NS)
        late_ns, bounds_ns = worst(log, set(scene.honest)), scene.bounds()
        assert {key: ns for key, ns in late_ns.items() if ns > bounds_ns[key]} == {}, f"case {case}"
