"""Examples of `ports` that can be followed by hand."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from giusto.errors import Duplicate, Overload, Unknown
from giusto.guarantee import ports
from giusto.guarantee.ports import Flow, Hop, Port, Request

GIGABIT = 125_000_000


def test_flow_derives_load_and_burst() -> None:
    flow = Flow(2, 10, jitter_ns=5)
    assert (flow.load, flow.burst_ns, flow.interference_ns) == (Fraction(1, 5), 3, 3)
    trusted = Flow(2, 10, jitter_ns=5, trusted=True)
    assert trusted.interference_ns == Fraction(2) * Fraction(4, 5) + 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        flow.wire_ns = Fraction(1)  # type: ignore[misc]


def test_queueing_adds_blocking_bursts_and_own_frames() -> None:
    own = Flow(4, 100, longest_frame_ns=1)
    above, mate = Flow(2, 4), Flow(3, 100)
    assert ports.queueing(own, [], [], 0) == 3
    assert ports.queueing(own, [], [mate], 5) == 5 + 3 + 3
    assert ports.queueing(own, [above], [mate], 5) == (5 + 2 + 3 + 3) * 2
    assert ports.message_queueing(own, [], [mate], 5) == 5 + 3


def test_queueing_above_a_load_of_one_has_no_bound() -> None:
    with pytest.raises(Overload, match="11/10"):
        ports.queueing(Flow(1, 2), [Flow(3, 5)], [], 0)


def test_flows_of_one_link_cannot_arrive_together() -> None:
    own, mate = Flow(2, 100, link=1), Flow(2, 100, link=1)
    assert ports.queueing(own, [], [mate], 0) == 2
    assert ports.refined_queueing(own, [], [mate], 0) == 0
    elsewhere = Flow(2, 100, link=2)
    assert ports.refined_queueing(own, [], [elsewhere], 0) == 2


def test_levels_put_the_patient_below() -> None:
    patient = Flow(4, 100, longest_frame_ns=1, budget_ns=50)
    urgent = Flow(1, 100, budget_ns=1)
    result = ports.assign_levels([patient, urgent], 2)
    assert isinstance(result, ports.Assigned)
    assert result.level == (0, 1)
    assert result.queueing_ns[1] == 1


def test_levels_refuse_with_the_flows_that_are_left() -> None:
    flows = [Flow(4, 100, longest_frame_ns=1, budget_ns=50), Flow(1, 100, budget_ns=1)]
    one = ports.assign_levels(flows, 1)
    assert one == ports.Unassigned("more than 1 levels are needed", (1,))
    tight = ports.assign_levels([Flow(1, 100, budget_ns=0)] * 2, 8)
    assert isinstance(tight, ports.Unassigned)
    assert tight.flows == (0, 1)
    assert isinstance(ports.assign_levels([Flow(3, 4)] * 2, 8), ports.Unassigned)


def test_no_flows_need_no_levels() -> None:
    assert ports.assign_levels([], 1) == ports.Assigned((), ())


def test_limiter_rounds_up() -> None:
    assert ports.limiter(1000, 1_000_000, 250_000, burst_step_bytes=512) == ports.Limiter(1536, 1_000_000)
    assert ports.limiter(1000, 3_000_000, rate_step_bytes_per_s=125).rate_bytes_per_s == 333_375


def test_a_limited_flow_has_the_limiter_s_burst_and_rate() -> None:
    policer = ports.limiter(1000, 3_000_000, 250_000, burst_step_bytes=512, rate_step_bytes_per_s=125)
    flow = ports.limited(policer, 1000, bandwidth_bytes_per_s=GIGABIT)
    assert flow.burst_ns == Fraction(policer.burst_bytes * 10**9, GIGABIT)
    assert flow.load == Fraction(policer.rate_bytes_per_s, GIGABIT)


def test_reconfiguration_checks_every_step() -> None:
    flows = [Flow(1, 10, budget_ns=1), Flow(1, 10, budget_ns=2)]
    assert ports.reconfiguration([1, 0], [0, 1]) == [ports.Move(1, 0, 1), ports.Move(0, 1, 0)]
    unsafe = ports.reconfiguration([1, 0], [0, 0], [Flow(1, 10, budget_ns=1), Flow(1, 10, budget_ns="1/2")])
    assert unsafe == ports.Unsafe(ports.Move(0, 1, 0), 1)
    assert ports.reconfiguration([1, 0], [1, 1], flows) == [ports.Move(1, 0, 1)]


def request(name: str, latency_ns: int, hops: list[str]) -> Request:
    return Request(name, 1538, 1_000_000, latency_ns, [Hop(port) for port in hops], GIGABIT)


def test_a_path_is_admitted_with_its_budgets() -> None:
    state = {name: Port(GIGABIT) for name in ("a", "b")}
    result = ports.path_admission(request("x", 100_000, ["a", "b"]), state)
    assert isinstance(result, ports.Admitted)
    frame = 12_304
    budget = Fraction(100_000 - 3 * frame, 2)
    assert result.bound_ns == 100_000
    assert result.ports["a"].flows["x"].budget_ns == budget
    assert result.ports["b"].flows["x"].jitter_ns == budget
    second = ports.queueing(result.ports["b"].flows["x"], [], [], frame)
    assert result.present_ns == 3 * frame + frame + second
    assert state["a"].flows == {}, "the old state is as it was"


def test_subscriptions_to_one_publisher_are_one_flow_with_the_least_budget() -> None:
    state = {"a": Port(GIGABIT)}
    for latency in (200_000, 100_000, 300_000):
        result = ports.path_admission(request("x", latency, ["a"]), state)
        assert isinstance(result, ports.Admitted)
        state = result.ports
    assert len(state["a"].flows) == 1
    assert state["a"].flows["x"].budget_ns == 100_000 - 2 * 12_304


@pytest.mark.parametrize("change", [{"wire_bytes": 100}, {"min_sep_ns": 10}, {"shortest_frame_bytes": 64}])
def test_a_name_stands_for_one_flow_at_a_port(change: dict[str, int]) -> None:
    """Otherwise the new description would take the place of one that other promises count on."""
    result = ports.path_admission(request("x", 200_000, ["a"]), {"a": Port(GIGABIT)})
    assert isinstance(result, ports.Admitted)
    with pytest.raises(Duplicate, match="flow x"):
        ports.path_admission(dataclasses.replace(request("x", 200_000, ["a"]), **change), result.ports)
    trusted = {
        "a": Port(GIGABIT, flows={"x": dataclasses.replace(result.ports["a"].flows["x"], trusted=True)})
    }
    with pytest.raises(Duplicate, match="flow x"):
        ports.path_admission(request("x", 200_000, ["a"]), trusted)


def test_a_path_is_denied_at_the_port_that_is_full() -> None:
    state = {"a": Port(GIGABIT)}
    assert ports.path_admission(request("x", 20_000, ["a"]), state) == ports.Denied(
        "the path takes 24608 ns with empty queues"
    )
    denied = ports.path_admission(request("x", 30_000, ["a"]), state)
    assert denied == ports.Denied("no flow can stand level 0", "a")


def test_an_unknown_port_is_named() -> None:
    with pytest.raises(Unknown, match="port z"):
        ports.path_admission(request("x", 10**6, ["z"]), {})
