"""Shapes of networks, and the draws behind them: the same on every machine and with every Python."""

from __future__ import annotations

from collections import Counter

import pytest

from giusto.errors import InvalidInput
from giusto.sim import Chance, Constant, Normal, Scenario, chain, layered, star, tree

FIRST_BITS = [4917834704406670051, 6821435286910578038, 11069306477010599889]
FOURTH = 7.755251369236472
SAMPLE = [28, 54, 64, 80, 95]


def test_a_layered_overlay_links_each_broker_from_different_ones_above() -> None:
    made = layered((4, 4, 8, 16), parents=(4, 2, 3), seed=5)
    Scenario(until="1s", brokers=made.brokers, links=made.links).check()
    assert [len(made.layer(n)) for n in (1, 2, 3, 4)] == [4, 4, 8, 16]
    assert made.layer(-1) == made.layer(4)
    parents = Counter(link.target for link in made.links)
    assert {parents[name] for name in made.layer(3)} == {2}
    assert {parents[name] for name in made.layer(4)} == {3}
    assert len({(link.source, link.target) for link in made.links}) == len(made.links) == 16 + 16 + 48


def test_a_seed_says_which_links_there_are_and_how_long_they_take() -> None:
    def drawn(seed: int) -> object:
        return layered((3, 9), delay=lambda chance: Constant(delay=chance.uniform(0.01, 0.02)), seed=seed)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_larger_layer_does_not_change_the_links_of_the_others() -> None:
    small, large = layered((4, 6), seed=3), layered((4, 8), seed=3)
    assert set(small.links) < set(large.links)


def test_draws_are_the_same_on_every_machine() -> None:
    chance = Chance(7, "link", "a", "b")
    assert [chance.bits() for _ in range(3)] == FIRST_BITS
    assert chance.uniform(0, 10) == FOURTH
    assert Chance(0, "x").sample(range(100), 5) == SAMPLE


def test_draws_stay_within_their_limits_and_spread() -> None:
    chance = Chance(1)
    assert all(2 <= chance.uniform(2, 3) < 3 for _ in range(1000))
    assert {chance.below(5) for _ in range(1000)} == set(range(5))
    assert {chance.choice("ab") for _ in range(100)} == {"a", "b"}
    assert sorted(chance.sample(range(6), 6)) == list(range(6))


def test_chain_star_and_tree_have_the_links_that_their_names_say() -> None:
    assert [link.label for link in chain(3).links] == ["b1->b2", "b2->b3"]
    assert [link.label for link in chain(2, both_ways=True).links] == ["b1->b2", "b2->b1"]
    assert [link.label for link in star(2).links] == ["hub->b1", "b1->hub", "hub->b2", "b2->hub"]
    made = tree(2, fanout=2)
    assert made.names == ("b1", "b2", "b3", "b4", "b5", "b6", "b7")
    assert made.layer(-1) == ("b4", "b5", "b6", "b7")
    ends = ["b1->b2", "b1->b3", "b2->b4", "b2->b5", "b3->b6", "b3->b7"]
    assert [link.label for link in made.links] == ends
    for each in (chain(3), star(2), made, tree(2, both_ways=True)):
        Scenario(until="1s", brokers=each.brokers, links=each.links).check()


def test_what_is_said_of_links_is_said_of_each() -> None:
    made = chain(4, delay=Normal(mean_per_kb="1ms"), policy="mtep", weight=0.1, processing="2ms")
    assert {(link.policy, link.weight, link.delay) for link in made.links} == {
        ("mtep", 0.1, Normal(mean_per_kb="1ms"))
    }
    assert {broker.processing_ns for broker in made.brokers} == {2_000_000}


def test_shapes_that_do_not_exist_are_refused() -> None:
    for make, field in [
        (lambda: layered((4, 4), parents=5), "parents[0]"),
        (lambda: layered((4, 4), parents=(1, 1)), "parents"),
        (lambda: layered((4, 4), parents=None), "parents"),
        (lambda: layered((4, 0)), "sizes[1]"),
        (lambda: layered(()), "sizes"),
        (lambda: layered(5), "sizes"),
        (lambda: layered((2, 2)).layer("1"), "layer"),
        (lambda: layered((2, 2)).layer(3), "layer"),
        (lambda: chain(3).layer(1), "layer"),
        (lambda: chain(0), "count"),
        (lambda: star(-1), "leaves"),
        (lambda: tree(40), "depth"),
        (lambda: tree(1, fanout=0), "fanout"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            make()  # type: ignore[no-untyped-call]
        assert caught.value.field == field
