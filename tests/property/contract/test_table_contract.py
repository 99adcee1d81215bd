"""What `twrr` and `smooth` promise beyond the common contract: the order of cells, and A7."""

from __future__ import annotations

import random

import pytest

from giusto import _core
from giusto.guarantee import smooth, twrr
from seeds import seeds
from workload import backlog

CELLS = {"twrr": twrr.cells, "smooth": smooth.cells}
pytestmark = pytest.mark.parametrize("policy", sorted(CELLS))


def quanta(policy: str, weights: list[int], publishers: list[int]) -> list[int]:
    """Topic of each quantum of one cycle."""
    return [topic for topic in CELLS[policy](weights) for _ in range(publishers[topic])]


def test_cells_come_in_the_order_of_the_table(policy: str) -> None:
    for seed in seeds(200):
        rng = random.Random(seed)
        weights = [rng.randint(1, 9) for _ in range(rng.randint(1, 6))]
        publishers = [rng.randint(1, 3) for _ in weights]
        cycle = quanta(policy, weights, publishers)
        workload = backlog([_core.Share(weight=w) for w in weights], [1] * len(weights), publishers, 40)
        order = [workload.flows[workload.arrivals[a][1]][1] for a, _, _ in workload.serve(policy).completions]
        assert order[: 2 * len(cycle)] == cycle * 2, f"{seed=} {weights=} {publishers=}"


def test_a_new_weight_takes_effect_when_the_cycle_is_over(policy: str) -> None:
    for seed in seeds(200):
        rng = random.Random(seed)
        weights = [rng.randint(1, 6) for _ in range(rng.randint(2, 5))]
        publishers = [rng.randint(1, 3) for _ in weights]
        changed = list(weights)
        changed[rng.randrange(len(weights))] = rng.randint(1, 6)
        before, after = quanta(policy, weights, publishers), quanta(policy, changed, publishers)
        workload = backlog([_core.Share(weight=w) for w in weights], [1] * len(weights), publishers, 60)
        at_ns = rng.randint(1, 2 * len(before))
        changes = [(at_ns, topic, _core.Share(weight=w)) for topic, w in enumerate(changed)]
        order = [
            workload.flows[workload.arrivals[a][1]][1]
            for a, _, _ in workload.serve(policy, changes).completions
        ]
        cycles = -(-at_ns // len(before))
        expected = before * cycles + after * 2
        assert order[: len(expected)] == expected, f"{seed=} {weights=} {changed=} {at_ns=}"
