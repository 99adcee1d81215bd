"""No message under contract is later than its bound, whatever others do: the real core in virtual time."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from drawing import draw
from playing import play

from giusto import _core

POLICIES = [name for name, _ in _core.input_policies()]
# A bound that no world comes near is worth little. What is reached is more: 0.4 to 0.6, time-driven 0.9.
LEAST_RATIO = Fraction(1, 5)


@pytest.mark.parametrize("mode", ["load", "time"])
@pytest.mark.parametrize("policy", POLICIES)
def test_no_message_is_later_than_its_bound(policy: str, mode: str, seed: int, cases: int) -> None:
    largest, messages = Fraction(0), 0
    count = (30 if mode == "load" else 12) * cases
    for number in range(count):
        case = f"{seed} {policy} {mode} {number}"
        rng = random.Random(case)
        drawn = draw(rng, policy, timed=mode == "time", small=number % 3 == 0)
        outcome = play(drawn.scene, rng)
        assert not outcome.faults, f"case {case}: {outcome.faults}"
        largest = max(largest, outcome.ratio)
        messages += outcome.messages
    print(
        f"{policy}, {mode}-driven: {count} scenes, {messages} messages, observed/bound {float(largest):.3f}"
    )
    assert largest > LEAST_RATIO
