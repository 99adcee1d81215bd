"""What schedulers are told of a link, where that is not the truth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from giusto.errors import InvalidInput
from giusto.sim import Constant, Normal, Poisson, Publisher, Run, Scenario, Subscriber, chain, run

TRUE = Normal(mean_per_kb="3ms", deviation_per_kb="600us")
FALSE = Normal(mean_per_kb="1ms", deviation_per_kb="200us")


def scenario(policy: str, estimate: Normal | None) -> Scenario:
    """More than the links carry in time, of two kinds."""
    net = chain(3, delay=TRUE, estimate=estimate, policy=policy)
    topics = (("urgent", 100, "20ms", 3.0), ("other", 300, "80ms", 1.0))
    return Scenario(
        until="5s",
        brokers=net.brokers,
        links=net.links,
        publishers=[
            Publisher(name=name, broker="b1", topic=name, workload=Poisson(rate=rate), size_bytes=1_024)
            for name, rate, _, _ in topics
        ],
        subscribers=[
            Subscriber(name=f"to-{name}", broker="b3", pattern=name, deadline=deadline, price=price)
            for name, _, deadline, price in topics
        ],
    )


def made(policy: str, estimate: Normal | None, seed: int) -> Run:
    return run(scenario(policy, estimate), seed=seed)


def test_an_estimate_changes_what_a_policy_chooses_and_not_how_long_links_take(seed: int) -> None:
    told, untold = made("fifo", FALSE, seed), made("fifo", None, seed)
    assert told.counters == untold.counters
    assert told.subscribers == untold.subscribers


def test_who_knows_the_links_earns_more(seed: int) -> None:
    # 83 against 75 per cent of what could be earned in runs of 20 s.
    earned = {
        estimate: sum(made("mtep", estimate, seed + n).total_earning for n in range(5))
        for estimate in (None, TRUE, FALSE)
    }
    assert earned[None] == earned[TRUE], "unless told otherwise the truth is known"
    assert earned[TRUE] > earned[FALSE]


def test_an_estimate_is_written_down_and_read_back() -> None:
    whole = scenario("mtep", FALSE)
    assert Scenario.from_toml(whole.to_toml()) == whole


@pytest.mark.parametrize("estimate", [Constant(delay="1ms"), "1ms"])
def test_an_estimate_that_means_nothing_is_refused_by_name(estimate: object) -> None:
    whole = scenario("mtep", None)
    links = [replace(whole.links[0], estimate=estimate), whole.links[1]]  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"links\[0\]\.estimate"):
        run(replace(whole, links=links))
