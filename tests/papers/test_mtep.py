"""The experiment of S1 is the one that its section 3 describes, and its single run says what happened."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from typing import Any

import pytest
from typer.testing import CliRunner

from giusto.cli.app import app
from giusto.errors import InvalidInput
from giusto.papers import case, find, once
from giusto.pipeline.spec import read
from giusto.sim import Link, Normal, Scenario

PAPER = find("mtep")
POLICIES = ("mtep", "priority", "fifo", "lrt")
ENDINGS = ("delivered", "late", "expired", "unfinished")


def described(seed: int = 0, reading: str = "usual") -> Scenario:
    """The scenario of a reading."""
    assert PAPER.code.once is not None  # loads the package of the paper
    network: Any = importlib.import_module("giusto_paper_mtep.network")
    setting: Any = importlib.import_module("giusto_paper_mtep.setting")
    link = Link(source="any", target="any", policy="mtep", expiry="eps", weight=0.3)
    made: Scenario = network.scenario(seed, 1.0, setting.READINGS[reading], link)
    return made


def short(**given: object) -> dict[str, Any]:
    """A run of five minutes."""
    return once(PAPER, minutes=5, **given)


def test_the_network_is_that_of_section_3() -> None:
    made = described()
    made.check()
    layers = Counter(broker.layer for broker in made.brokers)
    assert [layers[n] for n in range(1, 7)] == [4, 4, 8, 16, 32, 64]
    assert (len(made.publishers), len(made.subscribers)) == (40, 640)
    parents = Counter(link.target for link in made.links)
    assert {parents[f"b2.{n}"] for n in range(1, 5)} == {4}
    assert {count for target, count in parents.items() if not target.startswith("b2.")} == {2}
    assert set(Counter(each.broker for each in (*made.publishers, *made.subscribers)).values()) == {10}
    assert {each.size_bytes for each in made.publishers} == {50 * 1024}


def test_every_link_has_its_own_rate_and_the_given_policy() -> None:
    links = described().links
    delays = [link.delay for link in links if isinstance(link.delay, Normal)]
    assert len({delay.mean_ns_per_kb for delay in delays}) == len(links) == 16 + 2 * 120
    assert all(40_000_000 <= delay.mean_ns_per_kb <= 80_000_000 for delay in delays)
    assert {delay.deviation_ns_per_kb for delay in delays} == {20_000_000}
    assert {(link.policy, link.expiry, link.weight, link.epsilon) for link in links} == {
        ("mtep", "eps", 0.3, 0.04)
    }


def test_another_seed_is_another_network_and_the_same_seed_the_same() -> None:
    assert described(1) == described(1)
    assert described(1).links != described(2).links
    assert described(1).subscribers != described(2).subscribers


def test_prices_go_with_deadlines_and_every_deadline_occurs() -> None:
    terms = Counter((each.deadline, each.price, each.penalty) for each in described().subscribers)
    assert sorted(price for _, price, _ in terms) == [1.0, 1.5, 2.0, 2.5, 3.0]
    assert all(round(price * 0.1, 9) == penalty for _, price, penalty in terms)
    assert min(terms.values()) > 640 / 5 / 2


def test_a_message_matches_a_sixteenth_of_the_subscriptions_on_average() -> None:
    found = [short(seed=seed, policy="fifo") for seed in range(8)]
    rate = sum(each["ideal"] for each in found) / sum(640 * each["published"] for each in found)
    assert abs(rate / (1 / 16) - 1) < 0.2


@pytest.mark.parametrize("policy", POLICIES)
def test_every_delivery_ends_somehow_and_every_policy_sees_the_same_messages(policy: str) -> None:
    found, other = short(policy=policy, seed=3), short(policy="mtep", seed=3)
    assert sum(found[ending] for ending in ENDINGS) == found["ideal"]
    assert found["success_rate"] == found["delivered"] / found["ideal"]
    assert [found[key] for key in ("published", "ideal", "ideal_earning")] == [
        other[key] for key in ("published", "ideal", "ideal_earning")
    ]
    assert found["total_earning"] < found["ideal_earning"]


def test_other_draws_are_other_messages_in_the_same_network() -> None:
    first, second = short(draws=0), short(draws=1)
    assert first["ideal"] != second["ideal"]
    assert short(draws=1) == second


def test_greedy_routes_leave_one_way_from_layer_2_on() -> None:
    parents = Counter(link.target for link in described(reading="greedy").links)
    assert {count for target, count in parents.items() if not target.startswith("b2.")} == {1}


def test_a_run_that_ends_after_its_time_leaves_messages_under_way() -> None:
    assert short(reading="cut")["unfinished"] > 0
    assert short()["unfinished"] == 0


def test_a_run_in_which_nothing_is_published_has_no_success_rate() -> None:
    found = once(PAPER, rate=1e-6, minutes=1)
    assert (found["published"], found["ideal"], found["success_rate"]) == (0, 0, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 0}, "--rate = 0.0: expected 1e-06 to 20"),
        ({"rate": -1}, "--rate = -1.0: expected 1e-06 to 20"),
        ({"rate": 1e-9}, "--rate = 1e-09: expected 1e-06 to 20"),
        ({"weight": 1.1}, "--weight = 1.1: expected 0 to 1"),
        ({"weight": "nan"}, "--weight = nan: expected 0 to 1"),
        ({"minutes": 0}, "--minutes = 0: expected 1 to 1440"),
        ({"policy": "edf"}, "--policy = edf: expected one of mtep, fifo, priority, lrt"),
        ({"expiry": "late"}, "--expiry = late: expected one of own, none, dead, eps"),
    ],
)
def test_a_run_that_cannot_be_made_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        once(PAPER, **given)
    assert message in str(caught.value)


def test_the_command_prints_one_run_as_json() -> None:
    options = "--policy fifo --rate 1 --weight 0.4 --seed 3 --expiry dead --minutes 5 --json"
    result = CliRunner().invoke(app, ["paper", "run", "mtep", *options.split()])
    assert result.exit_code == 0
    said = json.loads(result.stdout)
    names = ("success_rate", "total_earning", "ideal_earning", *ENDINGS, "seconds")
    assert all(name in said for name in names)
    same = short(policy="fifo", seed=3, expiry="dead")
    assert said["total_earning"] == same["total_earning"]


def test_a_sweep_of_the_figures_is_one_file() -> None:
    cases = read(PAPER.folder / "sweep.toml").cases()
    topologies = Counter((each["policy"], each["expiry"], each["rate"], each["weight"]) for each in cases)
    assert set(topologies.values()) == {20}
    assert len(topologies) == 6 + 3 * 3 * 6 + 12
    found = case(**{**cases[0], "minutes": 5, "paper": "mtep"})
    assert found["success_rate"] is not None
    assert "seconds" not in found
