"""Plans against a live broker: with the same offers, needs and configuration both say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from giusto.config import load
from giusto.contract import Explanation, Granted, Part
from giusto.planning import Plan, Scenario, configuration, plan
from giusto.planning.reading import from_document
from giusto.planning.scenario import POLICIES
from giusto.testing import MemoryBus

LINKS = {
    "tolerance": "12ms",
    "link_delay_in": "70us",
    "link_delay_out": "20us",
    "link_bandwidth_in": "100Mbit/s",
    "link_bandwidth_out": "1Gbit/s",
}
TIMED = {"mode": "time", "period": "2ms", "budget": "1800us"}
ORDERS = ("offers first", "needs first")


def plant(broker: dict[str, str]) -> Scenario:
    """Two alarms with bursts, a fast signal, a topic with a limit that nobody guards, and a camera."""
    return from_document(
        {
            "broker": broker,
            "guarantee": LINKS,
            "topic": [{"name": "flow", "weight": 3, "rate": 3}, {"name": "b/alarm", "weight": 2, "rate": 2}],
            "offer": [
                {"client": "valve", "topic": "b/alarm", "min_sep": "100ms", "burst": 4, "max_size": 256},
                {"client": "pump", "topic": "a/alarm", "min_sep": "80ms", "jitter": "3ms", "max_size": 300},
                {"client": "valve", "topic": "a/alarm", "min_sep": "50ms", "burst": 2, "max_size": 200},
                {"client": "pump", "topic": "flow", "rate": "300/s", "max_size": 900},
                {"client": "pump", "topic": "log", "rate": "10/s", "max_size": 2000},
                {"client": "camera", "topic": "video", "max_size": 200_000},
            ],
            "need": [
                {"client": "desk", "topic": "+/alarm", "max_latency": "30ms"},
                {"client": "panel", "topic": "b/alarm", "max_latency": "30ms"},
                {"client": "panel", "topic": "flow", "max_latency": "60ms"},
                {"client": "archive", "topic": "#"},
            ],
        }
    )


def broker_of(made: Plan, folder: Path) -> MemoryBus:
    """A broker with the configuration that the plan writes."""
    path = folder / "giusto.toml"
    path.write_text(configuration(made), encoding="utf-8")
    return MemoryBus(load(path, environ={}), name="observer")


def settle(bus: MemoryBus, scenario: Scenario, order: str) -> list[Any]:
    """Everybody comes and asks for what the scenario says; the verdicts of the needs, in their order."""
    names = [each.client for each in (*scenario.offers, *scenario.needs)]
    clients = {name: bus.connect(name=name) for name in dict.fromkeys(names)}

    def advertise() -> None:
        for each in scenario.offers:
            clients[each.client].advertise(each.topic, each.offer)

    def subscribe() -> list[Any]:
        return [clients[each.client].subscribe(each.pattern, each.need) for each in scenario.needs]

    if order == "offers first":
        advertise()
        subscriptions = subscribe()
    else:
        subscriptions = subscribe()
        advertise()
    bus.clock.advance("1ms")
    return [subscription.verdict for subscription in subscriptions]


def worst(explained: Explanation) -> tuple[int, tuple[Part, ...]]:
    """The largest bound of a topic."""
    flow = max(explained.flows, key=lambda each: each.bound_ns)
    return flow.bound_ns, flow.parts


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("broker", [{}, TIMED], ids=["load", "time"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_plan_and_a_broker_come_to_the_same_bounds(
    policy: str, broker: dict[str, str], order: str, tmp_path: Path
) -> None:
    made = plan(plant({**broker, "input": policy}))
    assert made.holds
    with broker_of(made, tmp_path) as bus:
        verdicts = settle(bus, made.scenario, order)
        explained = {each.topic: bus.explain(each.topic) for each in made.contracts}
    for contract in made.contracts:
        assert worst(explained[contract.topic]) == (contract.bound_ns, contract.parts)
        assert explained[contract.topic].utilisation == made.utilisation
    promised = [verdict.promise_ns for verdict in verdicts if isinstance(verdict, Granted)]
    assert promised == [each.need.max_latency_ns for each in made.scenario.needs[:3]]


def test_topics_are_written_in_the_order_in_which_the_plan_counted_them(tmp_path: Path) -> None:
    made = plan(plant({"input": "smooth"}))
    assert list(made.shares) != sorted(made.shares)
    with broker_of(made, tmp_path):
        written = load(tmp_path / "giusto.toml", environ={})
    assert list(written.named_topics) == sorted(made.shares)
